// The build: packages/gateway/dist/BUILD/ holds the bundled gateway and the inbox app, packages/gateway/dist/manifest.json
// names the current one. BUILD is a hash of everything that the build is made from, so equal sources have equal builds
// in a clone, a package and an image. Plain JavaScript for Node 18 and newer: setup.mjs runs before Node 26 is installed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const distFolder = join(root, 'packages/gateway/dist');
export const manifestFile = join(distFolder, 'manifest.json');

const inputs = [
  'LICENSE',
  'package-lock.json',
  'packages/contract/package.json',
  'packages/contract/src',
  'packages/gateway/package.json',
  'packages/gateway/src',
  'packages/inbox/index.html',
  'packages/inbox/package.json',
  'packages/inbox/public',
  'packages/inbox/src',
  'packages/inbox/tsconfig.json',
  'packages/inbox/vite.config.ts',
  'scripts/build.mjs',
  'scripts/dist.mjs',
  'tsconfig.json',
];

/** The name of the build that the present sources make. */
export function nameOfBuild() {
  const hash = createHash('sha256');
  for (const file of inputs.flatMap(filesBelow)) {
    const content = readFileSync(join(root, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

/** null before the first build. */
export function readManifest() {
  try {
    return JSON.parse(readFileSync(manifestFile, 'utf8'));
  } catch {
    return null;
  }
}

/** Whether the current build was made from exactly the present sources. */
export function isBuildCurrent() {
  const build = readManifest()?.build;
  return build === nameOfBuild() && existsSync(join(distFolder, build));
}

function filesBelow(path) {
  if (!statSync(join(root, path)).isDirectory()) return path.endsWith('.test.ts') ? [] : [path];
  const names = readdirSync(join(root, path)).sort();
  return names.flatMap((name) => filesBelow(`${path}/${name}`));
}
