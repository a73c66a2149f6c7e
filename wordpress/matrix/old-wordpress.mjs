// The oldest supported WordPress, from an npm package.
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fetchPackage, shareTree } from '../../scripts/fetch-wordpress.mjs';
import { runInGroup } from './process-group.ts';

const builds = {
  spec: '@wp-playground/wordpress-builds@0.9.19',
  integrity: 'sha512-dlqvh/MJDpE5W68vgPPKUjpip6zMuBh59L3D18ZX+pdwurC4q4ydrTww/3sTMV69BBcoH6kF93YtAtujNC5Mpw==',
  folder: 'wordpress-builds-0.9.19',
  parts: { 'src/wordpress/wp-6.2.zip': 'wp-6.2.zip', 'public/wp-6.2': 'wp-6.2' },
};

/** Returns the folder of its files. The zip lacks static assets, which are in a separate folder of the package. */
export async function oldWordPress() {
  const folder = fetchPackage(builds, console.log);
  const tree = join(folder, 'wordpress');
  if (existsSync(tree)) return tree;
  const work = mkdtempSync(join(folder, 'unpacking-'));
  try {
    await runInGroup('php', ['-r', `exit((new PharData('${folder}/wp-6.2.zip'))->extractTo('${work}') ? 0 : 1);`]);
    const unpacked = existsSync(join(work, 'wp-load.php')) ? work : join(work, readdirSync(work)[0]);
    await runInGroup('cp', ['-r', `${folder}/wp-6.2/.`, unpacked]);
    shareTree(unpacked);
    renameSync(unpacked, tree);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return tree;
}
