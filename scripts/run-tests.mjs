// Runs every *.test.ts of the workspaces and of the WordPress companion on node:test. Arguments narrow it to files whose
// path contains one of them:
//   npm test -- normalize          only files with "normalize" in their path
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const options = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const files = globSync(['packages/*/{src,test}/**/*.test.ts', 'wordpress/test/**/*.test.ts']).filter(
  (file) => wanted.length === 0 || wanted.some((part) => file.includes(part)),
);
if (files.length === 0) {
  console.error(`No test file matches ${wanted.join(', ')}.`);
  process.exit(1);
}
const { status } = spawnSync(process.execPath, ['--test', '--test-concurrency=3', ...options, ...files.sort()], {
  stdio: 'inherit',
  env: {
    // Most of these many processes load the same sources.
    NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled'),
    // `npm test` has just built: see packages/test-support/src/build.ts.
    TOCSIN_TEST_BUILD: 'keep',
    ...process.env,
  },
});
process.exit(status ?? 1);
