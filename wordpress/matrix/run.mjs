// npm run test:wordpress-matrix: tests on the oldest and newest WordPress, PHP and database. Plain JavaScript like
// scripts/fetch-wordpress.mjs. Arguments select rows whose name contains one of them:
//   npm run test:wordpress-matrix -- oldest 'PHP 8.5'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withMariadb } from './mariadb.ts';
import { oldWordPress } from './old-wordpress.mjs';
import { endGroupsOnSignals, isInterrupted, runInGroup } from './process-group.ts';

const here = fileURLToPath(new URL('.', import.meta.url));
const tests = fileURLToPath(new URL('../test/', import.meta.url));
/** Tests whose result does not depend on the platform. */
const excluded = ['phpcs.test.ts', 'translations.test.ts', 'page-speed.test.ts'];

const rows = {
  'newest WordPress, SQLite': () => suites({}),
  'oldest WordPress, SQLite': async () => suites(await onOldWordPress()),
  'newest WordPress, MariaDB': () => withMariadb((socket) => suites(onMariadb(socket))),
  'oldest WordPress, MariaDB': () =>
    withMariadb(async (socket) => suites({ ...onMariadb(socket), ...(await onOldWordPress()) })),
  'newest WordPress, PHP 7.4': () => playground('7.4', {}),
  'newest WordPress, PHP 8.5': () => playground('8.5', {}),
  'oldest WordPress, PHP 7.4': async () => playground('7.4', await onOldWordPress()),
};

const filters = process.argv.slice(2);
const selected = Object.keys(rows).filter(
  (name) => filters.length === 0 || filters.some((part) => name.includes(part)),
);
if (selected.length === 0) {
  console.error(`No row matches ${filters.join(', ')}. Available rows:\n${Object.keys(rows).join('\n')}`);
  process.exit(1);
}

endGroupsOnSignals();
// Temporary files of killed tests are deleted with this folder. Its name must not contain "tocsin", which tests search for in logs.
const folder = mkdtempSync(join(tmpdir(), 'wordpress-matrix-'));
process.env.TMPDIR = folder;
// Makes tests that cannot run on this machine fail instead of being skipped.
process.env.CI = 'true';
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));

const lines = [];
/** Versions reported by the site of the current row. */
let versions;
for (const name of selected) {
  if (isInterrupted()) break;
  console.log(`\n── ${name}`);
  versions = 'unknown versions';
  const start = performance.now();
  let outcome;
  try {
    outcome = `passed: ${await rows[name]()}`;
  } catch (error) {
    console.log(error.message);
    outcome = 'FAILED: see above';
    process.exitCode ??= 1;
  }
  const seconds = `${Math.round((performance.now() - start) / 1000)} s`;
  lines.push(`${name.padEnd(26)} ${seconds.padStart(6)}  ${versions.padEnd(49)} ${outcome}`);
}
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
console.log(['', ...lines].join('\n'));
if (isInterrupted()) console.log(`INTERRUPTED: ${selected.length - lines.length} rows did not run.`);

/** Runs the suites of `npm test` with another WordPress or database. */
async function suites(environment) {
  setVersions(await runProgram('versions.ts', [], environment));
  const files = readdirSync(tests).filter((file) => file.endsWith('.test.ts') && !excluded.includes(file));
  const paths = files.map((file) => join(tests, file));
  const options = ['--test', '--test-concurrency=2', '--test-reporter=spec'];
  const output = await runInGroup(process.execPath, [...options, ...paths], environment);
  const count = (what) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(output)?.[1]);
  if (!(count('pass') > 0 && count('pass') === count('tests'))) throw new Error('Tests were skipped.');
  return `${count('pass')} tests in ${files.length} files`;
}

async function playground(php, environment) {
  setVersions(await runProgram('playground.ts', [php, 'contract'], environment));
  const { passed } = await runProgram('playground.ts', [php, 'phpunit'], environment);
  return `the short contract test and ${passed} PHPUnit tests`;
}

/** Runs a program of this folder and returns its last line of output, parsed as JSON. */
async function runProgram(program, args, environment) {
  const output = await runInGroup(process.execPath, [join(here, program), ...args], environment);
  return JSON.parse(output.trimEnd().split('\n').at(-1));
}

function setVersions({ wordpress, php, database }) {
  versions = `WordPress ${wordpress}, PHP ${php}, ${database}`;
}

async function onOldWordPress() {
  return { TOCSIN_TEST_WORDPRESS: await oldWordPress() };
}

function onMariadb(socket) {
  return { TOCSIN_TEST_MARIADB: socket };
}
