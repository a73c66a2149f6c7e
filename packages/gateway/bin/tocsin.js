#!/usr/bin/env node
// Runs the current build. Plain JavaScript for any Node: one that is too old for the build starts this file again on the
// Node that npm installed into the clone.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const wantedMajor = 26;

// Libraries of ours print packets, passwords included, where this asks for it.
delete process.env.DEBUG;

if (Number(process.versions.node.split('.')[0]) >= wantedMajor) {
  const { privateCacheFolder } = await import('./compile-cache.js');
  // Node keeps compiled code between runs: commands start in half the time. Threads and workers read only the variable.
  const cacheFolder = process.env.NODE_COMPILE_CACHE ?? privateCacheFolder();
  if (cacheFolder !== undefined) {
    process.env.NODE_COMPILE_CACHE = cacheFolder;
    nodeModule.enableCompileCache(cacheFolder);
  }
  const program = builtProgram();
  // Forked workers run this file: after the next build they still match the process that forks them.
  process.argv[1] = program;
  await import(pathToFileURL(program).href);
} else {
  runOnInstalledNode();
}

function builtProgram() {
  const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist');
  const manifest = join(dist, 'manifest.json');
  const program = existsSync(manifest) ? join(dist, JSON.parse(readFileSync(manifest, 'utf8')).build, 'main.js') : '';
  if (existsSync(program)) return program;
  console.error(`Tocsin has not been built: there is no build in ${dist}. Run 'npm run build' in the clone.`);
  process.exit(1);
}

function runOnInstalledNode() {
  const node = installedNode();
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

function installedNode() {
  try {
    const path = join(dirname(nodeModule.createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
