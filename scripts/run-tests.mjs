// Runs the tests of the workspaces and of the WordPress companion on node:test. Arguments narrow it to files whose path
// contains one of them:
//   npm test                       every *.test.ts except *.long.test.ts
//   npm test -- normalize          only files with "normalize" in their path
//   npm run test:quick             unit tests and the request fixtures of the contract
//   npm run test:long              *.long.test.ts: third-party programs and full-length runs
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';

const groups = {
  '--all': ['packages/*/{src,test}/**/!(*.long).test.ts', 'wordpress/test/**/!(*.long).test.ts'],
  '--quick': ['packages/*/src/**/!(*.long).test.ts', 'packages/gateway/test/requests.test.ts'],
  '--long': ['packages/*/test/**/*.long.test.ts', 'wordpress/test/**/*.long.test.ts'],
};

const group = Object.keys(groups).find((name) => process.argv.includes(name)) ?? '--all';
const given = process.argv.slice(2).filter((argument) => !(argument in groups));
const wanted = given.filter((argument) => !argument.startsWith('-'));
const options = given.filter((argument) => argument.startsWith('-'));
const files = globSync(groups[group]).filter(
  (file) => wanted.length === 0 || wanted.some((part) => file.includes(part)),
);
if (files.length === 0) {
  console.error(`No test file matches ${wanted.join(', ')}.`);
  process.exit(1);
}
const reporters = [resolve('scripts/slow-files.mjs'), 'spec'].flatMap((reporter) => [
  `--test-reporter=${reporter}`,
  '--test-reporter-destination=stdout',
]);
const { status } = spawnSync(
  process.execPath,
  ['--test', '--test-concurrency=3', ...reporters, ...options, ...files.sort()],
  {
    stdio: 'inherit',
    env: {
      // Most of these many processes load the same sources.
      NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled'),
      // `npm test` has just built: see packages/test-support/src/build.ts.
      TOCSIN_TEST_BUILD: 'keep',
      ...process.env,
    },
  },
);
process.exit(status ?? 1);
