// The companion as a zip that WordPress can install, with one folder `tocsin`.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zipArchive } from './zip-archive.ts';

const plugin = fileURLToPath(new URL('../tocsin', import.meta.url));

/** Files of the plugin; others in its folder are not included. */
const parts = [
  '*.php',
  'readme.txt',
  'LICENSE',
  '{assets,includes,languages}/**/*.{php,css,js,svg,png,pot,po,mo,json}',
];

export function pluginFiles(): Map<string, Buffer> {
  const paths = parts.flatMap((pattern) => globSync(pattern, { cwd: plugin }));
  return new Map(paths.map((path) => [`tocsin/${path}`, readFileSync(join(plugin, path))]));
}

export function pluginZip(): Buffer {
  return zipArchive(pluginFiles());
}
