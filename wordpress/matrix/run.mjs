// npm run test:wordpress-matrix: the oldest and the newest of everything that can be had. Plain JavaScript, because what
// fetches WordPress is; the rest is TypeScript. Arguments narrow it to rows whose name contains one of them:
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
/** How the sources look, which texts they hold and how fast a page is does not depend on what it runs on. */
const leftOut = ['phpcs.test.ts', 'translations.test.ts', 'page-speed.test.ts'];

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

const wanted = process.argv.slice(2);
const chosen = Object.keys(rows).filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (chosen.length === 0) {
  console.error(`No row matches ${wanted.join(', ')}. There are:\n${Object.keys(rows).join('\n')}`);
  process.exit(1);
}

endGroupsOnSignals();
// What a test leaves behind when it is killed goes with this. The name must not look like ours in a site's log.
const folder = mkdtempSync(join(tmpdir(), 'wordpress-matrix-'));
process.env.TMPDIR = folder;
// A test that cannot run here fails, instead of being skipped.
process.env.CI = 'true';
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));

const lines = [];
/** What the row runs on, as it says itself. */
let versions;
for (const name of chosen) {
  if (isInterrupted()) break;
  console.log(`\n── ${name}`);
  versions = 'it is not known on what';
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
if (isInterrupted()) console.log(`INTERRUPTED: ${chosen.length - lines.length} rows did not run.`);

/** The suites of `npm test`, on something else. */
async function suites(environment) {
  tellVersions(await ask('versions.ts', [], environment));
  const files = readdirSync(tests).filter((file) => file.endsWith('.test.ts') && !leftOut.includes(file));
  const paths = files.map((file) => join(tests, file));
  const options = ['--test', '--test-concurrency=2', '--test-reporter=spec'];
  const said = await runInGroup(process.execPath, [...options, ...paths], environment);
  const count = (what) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(said)?.[1]);
  if (!(count('pass') > 0 && count('pass') === count('tests'))) throw new Error('Tests were skipped.');
  return `${count('pass')} tests in ${files.length} files`;
}

async function playground(php, environment) {
  tellVersions(await ask('playground.ts', [php, 'contract'], environment));
  const { passed } = await ask('playground.ts', [php, 'phpunit'], environment);
  return `the contract in short and ${passed} tests of PHPUnit`;
}

/** Runs a program of this folder whose last line is an answer. */
async function ask(program, args, environment) {
  const said = await runInGroup(process.execPath, [join(here, program), ...args], environment);
  return JSON.parse(said.trimEnd().split('\n').at(-1));
}

function tellVersions({ wordpress, php, database }) {
  versions = `WordPress ${wordpress}, PHP ${php}, ${database}`;
}

async function onOldWordPress() {
  return { TOCSIN_TEST_WORDPRESS: await oldWordPress() };
}

function onMariadb(socket) {
  return { TOCSIN_TEST_MARIADB: socket };
}
