// Makes the bundle that packages/gateway/bin/bundle.js tells of. Run by scripts/setup.mjs where it is missing.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { bundlesFolder, nameOfBundle } from '../packages/gateway/bin/bundle.js';

/** A server that runs may still load a part of the bundle that it was started from. */
const kept = 10;

const target = join(bundlesFolder, nameOfBundle());
// Not mkdtemp, whose folders are their maker's alone: the service may run as somebody else.
const work = join(bundlesFolder, `.making-${process.pid}`);
mkdirSync(work, { recursive: true });
await build(work);
try {
  renameSync(work, target);
} catch (error) {
  rmSync(work, { recursive: true });
  // Somebody else made it at the same time.
  if (!existsSync(target)) throw error;
}
// One that another setup is making may get its name meanwhile.
const ageOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
const newestFirst = readdirSync(bundlesFolder)
  .map((name) => join(bundlesFolder, name))
  .sort((one, other) => ageOf(other) - ageOf(one));
for (const old of newestFirst.slice(kept)) rmSync(old, { recursive: true, force: true });

async function build(dir) {
  const bundle = await rolldown({
    input: {
      main: 'packages/gateway/src/cli/main.ts',
      'sqlite-thread': 'packages/gateway/src/store/sqlite/thread.ts',
      'search-thread': 'packages/gateway/src/store/search/thread.ts',
    },
    platform: 'node',
    logLevel: 'warn',
    plugins: [
      {
        name: 'threads-beside-main',
        transform: (code, id) => {
          const [, folder] = /\/store\/(\w+)\/thread-client\.ts$/.exec(id) ?? [];
          return folder === undefined ? null : code.replace('./thread.ts', `./${folder}-thread.js`);
        },
      },
    ],
  });
  await bundle.write({ dir, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
}
