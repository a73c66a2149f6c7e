// npm run test:wordpress-matrix: the oldest and the newest of everything that can be had. Plain JavaScript, because what
// fetches WordPress is; the rest is TypeScript. Arguments narrow it to rows whose name contains one of them.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../packages/gateway/test/support/eventually.ts';
import { fetchPackage, shareTree } from '../../scripts/fetch-wordpress.mjs';
import { checkInPlayground, installPlayground } from './playground.ts';

const tests = fileURLToPath(new URL('../test/', import.meta.url));
/** How the sources look and how fast a page is does not depend on what it runs on. */
const leftOut = ['phpcs.test.ts', 'page-speed.test.ts'];

const oldWordPress = {
  spec: '@wp-playground/wordpress-builds@0.9.19',
  integrity: 'sha512-dlqvh/MJDpE5W68vgPPKUjpip6zMuBh59L3D18ZX+pdwurC4q4ydrTww/3sTMV69BBcoH6kF93YtAtujNC5Mpw==',
  folder: 'wordpress-builds-0.9.19',
  parts: { 'src/wordpress/wp-6.2.zip': 'wp-6.2.zip', 'public/wp-6.2': 'wp-6.2' },
};

const rows = {
  'WordPress 7.1.1, SQLite': () => suites({}),
  'WordPress 6.2.6, SQLite': () => suites({ TOCSIN_TEST_WORDPRESS: oldTree() }),
  'WordPress 7.1.1, MariaDB': () => withMariadb((socket) => suites({ TOCSIN_TEST_MARIADB: socket })),
  'WordPress 6.2.6, MariaDB': () =>
    withMariadb((socket) => suites({ TOCSIN_TEST_MARIADB: socket, TOCSIN_TEST_WORDPRESS: oldTree() })),
  'WordPress 7.1.1, PHP 7.4': () => inPlayground('7.4'),
  'WordPress 7.1.1, PHP 8.5': () => inPlayground('8.5'),
};

const wanted = process.argv.slice(2);
const results = [];
for (const [name, run] of Object.entries(rows)) {
  if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
  console.log(`\n── ${name}`);
  const start = performance.now();
  let outcome;
  try {
    outcome = `passed: ${await run()}`;
  } catch (error) {
    console.log(error.message);
    outcome = 'FAILED: see above';
    process.exitCode = 1;
  }
  results.push({ name, outcome, seconds: Math.round((performance.now() - start) / 1000) });
}
console.log('');
for (const { name, outcome, seconds } of results) {
  console.log(`${name.padEnd(26)} ${`${seconds} s`.padStart(6)}  ${outcome}`);
}

/** The suites of `npm test`, on something else. */
async function suites(environment) {
  const files = readdirSync(tests)
    .filter((file) => file.endsWith('.test.ts') && !leftOut.includes(file))
    .map((file) => join(tests, file));
  const child = spawn(process.execPath, ['--test', '--test-concurrency=2', ...files], {
    env: { ...process.env, ...environment, CI: 'true' },
    stdio: 'inherit',
  });
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error('Tests failed.');
  const php = spawnSync('php', ['-r', 'echo PHP_VERSION;'], { encoding: 'utf8' }).stdout;
  return `${files.length} suites on PHP ${php}`;
}

async function inPlayground(php) {
  installPlayground();
  return `the contract in short and PHPUnit, ${await checkInPlayground(php)}`;
}

/** The zip lacks what browsers load, which lies beside it. */
function oldTree() {
  const folder = fetchPackage(oldWordPress, console.log);
  const tree = join(folder, 'wordpress');
  if (existsSync(tree)) return tree;
  const work = join(folder, 'unpacking');
  rmSync(work, { recursive: true, force: true });
  must('php', ['-r', `exit((new PharData('${folder}/wp-6.2.zip'))->extractTo('${work}') ? 0 : 1);`]);
  const unpacked = existsSync(join(work, 'wp-load.php')) ? work : join(work, readdirSync(work)[0]);
  must('cp', ['-r', `${folder}/wp-6.2/.`, unpacked]);
  shareTree(unpacked);
  renameSync(unpacked, tree);
  return tree;
}

async function withMariadb(use) {
  if (!existsSync('/usr/sbin/mariadbd')) {
    if (process.getuid() !== 0) throw new Error('apt-get install mariadb-server-core mariadb-client-core php-mysql');
    const packages = ['mariadb-server-core', 'mariadb-client-core', 'php-mysql'];
    must('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages]);
  }
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-mariadb-'));
  const common = ['--no-defaults', '--user=root', `--datadir=${folder}/data`];
  must('mariadb-install-db', [...common, '--auth-root-authentication-method=normal', '--skip-test-db']);
  const socket = join(folder, 'socket');
  const server = spawn('/usr/sbin/mariadbd', [...common, `--socket=${socket}`, '--skip-networking'], {
    stdio: 'ignore',
  });
  try {
    const isUp = () => spawnSync('mariadb', ['--no-defaults', `--socket=${socket}`, '-e', 'SELECT 1']).status === 0;
    await eventually('MariaDB answers', 30_000, isUp, (up) => up);
    return await use(socket);
  } finally {
    const ended = once(server, 'exit');
    server.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

function must(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stdout}${stderr}`);
}
