#!/usr/bin/env node
// Runs the current build. Plain JavaScript for any Node: one that is too old for the build starts this file again on the
// Node that npm installed into the clone. It has no import statements, because they load more of Node than they name
// (scripts/build.mjs).
const wantedMajor = 26;

// Libraries of ours print packets, passwords included, where this asks for it.
delete process.env.DEBUG;

if (Number(process.versions.node.split('.')[0]) >= wantedMajor) {
  const { privateCacheFolder } = await import('./compile-cache.js');
  // Node keeps compiled code between runs: commands start in half the time. Threads and workers read only the variable.
  const cacheFolder = process.env.NODE_COMPILE_CACHE ?? privateCacheFolder();
  if (cacheFolder !== undefined) {
    process.env.NODE_COMPILE_CACHE = cacheFolder;
    process.getBuiltinModule('node:module').enableCompileCache(cacheFolder);
  }
  const { fileURLToPath, pathToFileURL } = process.getBuiltinModule('node:url');
  const program = builtProgram(fileURLToPath(new URL('../dist', import.meta.url)));
  // Forked workers run this file: after the next build they still match the process that forks them.
  process.argv[1] = program;
  await import(pathToFileURL(program).href);
} else {
  await runOnInstalledNode();
}

function builtProgram(dist) {
  const { existsSync, readFileSync } = process.getBuiltinModule('node:fs');
  const { join } = process.getBuiltinModule('node:path');
  const manifest = join(dist, 'manifest.json');
  const program = existsSync(manifest) ? join(dist, JSON.parse(readFileSync(manifest, 'utf8')).build, 'main.js') : '';
  if (existsSync(program)) return program;
  console.error(`Tocsin has not been built: there is no build in ${dist}. Run 'npm run build' in the clone.`);
  process.exit(1);
}

async function runOnInstalledNode() {
  const [{ spawn }, { fileURLToPath }] = await Promise.all([import('node:child_process'), import('node:url')]);
  const node = await installedNode();
  if (!node) {
    console.error(
      `Tocsin needs Node ${wantedMajor} or newer (this is ${process.version}): run 'npm ci' in the clone, which installs it.`,
    );
    process.exit(1);
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 1));
}

async function installedNode() {
  const [{ existsSync }, { createRequire }] = await Promise.all([import('node:fs'), import('node:module')]);
  const { dirname, join } = await import('node:path');
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
