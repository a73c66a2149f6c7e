// Runs the tests of the workspaces and of the WordPress companion on node:test. Arguments narrow it to files whose path
// contains one of them; options go to Node, such as --test-name-pattern:
//   npm test                       every *.test.ts except *.long.test.ts
//   npm test -- normalize          only files with "normalize" in their path
//   npm run test:quick             unit tests and the request fixtures of the contract
//   npm run test:long              *.long.test.ts: third-party programs and full-length runs
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { useMemoryForTemporaryFiles } from './memory-folder.mjs';
import { describeSlowest, longestFirst, saveDurations } from './test-durations.mjs';

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

// Most of these many processes load the same sources.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/compiled');
// `npm test` has just built: see packages/test-support/src/build.ts.
process.env.TOCSIN_TEST_BUILD ??= 'keep';

useMemoryForTemporaryFiles();

// About half of the time of a file is waiting for timeouts and other processes, so there are more files than processors.
const concurrency = Math.min(2 * availableParallelism(), 8);
const tests = run({ files: longestFirst(files), concurrency, execArgv: options });
const durations = new Map();
process.exitCode = 1;
tests.on('test:summary', ({ file, duration_ms: ms, success }) => {
  if (file !== undefined) durations.set(file, ms);
  // Without a file it is the summary of the whole run.
  else if (success) process.exitCode = 0;
});
tests.compose(spec).pipe(process.stdout, { end: false });
tests.once('end', () => {
  if (options.length === 0) saveDurations(durations);
  process.once('beforeExit', () => process.stdout.write(describeSlowest(durations)));
});
