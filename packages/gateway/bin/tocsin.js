#!/usr/bin/env node
// Plain JavaScript for any Node: on one that is too old for the TypeScript sources it runs itself again on the Node
// that npm installed beside the project.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const wantedMajor = 26;

// Libraries of ours print packets, passwords included, where this asks for it.
delete process.env.DEBUG;

if (Number(process.versions.node.split('.')[0]) >= wantedMajor) {
  const { privateCacheFolder } = await import('./compile-cache.js');
  // Node keeps the compiled sources between runs: commands start in half the time. Threads know it by the variable alone.
  const cacheFolder = process.env.NODE_COMPILE_CACHE ?? privateCacheFolder();
  if (cacheFolder !== undefined) {
    process.env.NODE_COMPILE_CACHE = cacheFolder;
    nodeModule.enableCompileCache(cacheFolder);
  }
  const { gatewayProgram } = await import('./bundle.js');
  await import(gatewayProgram());
} else {
  runOnInstalledNode();
}

function runOnInstalledNode() {
  const node = installedNode();
  if (!node) {
    console.error(
      `Tocsin needs Node ${wantedMajor} or newer (this is ${process.version}): run 'npm ci' in the clone, which brings it.`,
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
