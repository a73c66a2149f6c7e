// npm run build:wordpress → wordpress/dist/tocsin.zip
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pluginFiles, pluginZip } from './plugin-zip.ts';

const folder = fileURLToPath(new URL('../dist/', import.meta.url));
mkdirSync(folder, { recursive: true });
const zip = pluginZip();
writeFileSync(`${folder}tocsin.zip`, zip);
console.log(`wordpress/dist/tocsin.zip: ${pluginFiles().size} files, ${Math.ceil(zip.length / 1024)} KiB`);
