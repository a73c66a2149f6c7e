// The build that the tests run: packages/gateway/dist, as scripts/build.mjs makes it.
import { join } from 'node:path';

interface Dist {
  distFolder: string;
  readManifest(): { build: string } | null;
  isBuildCurrent(): boolean;
}

const dist = (await import(new URL('../../../scripts/dist.mjs', import.meta.url).href)) as Dist;

// A test must not pass on an old build. `npm test` has just built, and stays with that build if a source changes later.
if (process.env.TOCSIN_TEST_BUILD !== 'keep' && !dist.isBuildCurrent()) {
  throw new Error("packages/gateway/dist was not built from the present sources. Run 'npm run build' first.");
}

/** The folder of the current build. */
export const currentBuild = join(dist.distFolder, dist.readManifest()?.build ?? '');
