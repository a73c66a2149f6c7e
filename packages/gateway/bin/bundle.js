// The gateway in few files: it starts in half the time of its sources, which are hundreds of modules. Only a bundle of
// exactly the sources that are there is used; after a change, or where nobody made one, the sources run as they are.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const sources = ['package-lock.json', 'packages/contract/src', 'packages/gateway/src'];

/** Bundles lie as deep as the folders of the sources, so that what is found beside those is found from here too. */
export const bundlesFolder = join(root, 'packages/gateway/dist');

/** What to import: the bundle, or the sources. */
export function gatewayProgram() {
  const bundled = join(bundlesFolder, nameOfBundle(), 'main.js');
  const file = existsSync(bundled) ? bundled : join(root, 'packages/gateway/src/cli/main.ts');
  return pathToFileURL(file).href;
}

/** Sizes and times of the sources, not their contents: this is on the way of every start. */
export function nameOfBundle() {
  const hash = createHash('sha256');
  for (const source of sources) add(hash, source);
  return hash.digest('hex').slice(0, 16);
}

function add(hash, path) {
  const file = join(root, path);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isDirectory()) for (const name of readdirSync(file).sort()) add(hash, `${path}/${name}`);
  else hash.update(`${path} ${stats?.size} ${stats?.mtimeMs}\n`);
}
