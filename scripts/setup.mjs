// Makes a fresh clone ready to run. Plain JavaScript for any Node from 18 on: it runs before anything is installed.
//   node scripts/setup.mjs          npm packages, the Node 26 that the scripts run on among them, inbox app and gateway built
//   node scripts/setup.mjs --test   also the system programs that the tests talk to, and WordPress
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isBuildCurrent, root } from './dist.mjs';
import { fetchWordPress } from './fetch-wordpress.mjs';

// Program the tests need → the Debian package that brings it.
const testPrograms = {
  strace: 'strace',
  faketime: 'faketime',
  mosquitto: 'mosquitto',
  mosquitto_sub: 'mosquitto-clients',
  'nats-server': 'nats-server',
  openssl: 'openssl',
  nginx: 'nginx-light',
  curl: 'curl',
  jq: 'jq',
  php: 'php-cli',
  '/usr/lib/php/*/pdo_sqlite.so': 'php-sqlite3',
  '/usr/lib/php/*/curl.so': 'php-curl',
  '/usr/lib/php/*/dom.so': 'php-xml',
  '/usr/lib/php/*/mbstring.so': 'php-mbstring',
  phpunit: 'phpunit',
  phpcs: 'php-codesniffer',
  python3: 'python3',
  'chromium-headless-shell': 'chromium-headless-shell',
  chromium: 'chromium',
  // Debian keeps it in a folder of its version, off everybody's path.
  '/usr/lib/postgresql/*/bin/postgres': 'postgresql',
  pgbouncer: 'pgbouncer',
};

installPackages();
build();
if (process.argv.includes('--test')) {
  installTestPrograms();
  fetchWordPress(say);
}

function installPackages() {
  const stamp = join(root, 'node_modules', '.tocsin-setup');
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  say('installing npm packages, Node 26 among them (once; about 400 MB) …');
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  writeFileSync(stamp, wanted);
}

/** On the Node that npm installed: the tools need a newer one than this may be. */
function build() {
  if (isBuildCurrent()) return;
  say('building the gateway and the inbox app …');
  const path = join(root, 'node_modules', '.bin') + delimiter + process.env.PATH;
  run('node', ['scripts/build.mjs'], { PATH: path });
}

function installTestPrograms() {
  const packages = Object.keys(testPrograms)
    .filter(isMissing)
    .map((program) => testPrograms[program]);
  if (packages.length === 0) return;
  const canInstall = process.getuid?.() === 0 && !isMissing('apt-get');
  if (!canInstall) {
    say(
      `missing system packages: ${packages.join(' ')}. Suites that need them are skipped; on Debian: apt-get install ${packages.join(' ')}`,
    );
    return;
  }
  say(`installing ${packages.join(' ')} …`);
  run('apt-get', ['update', '-qq']);
  if (packages.includes('postgresql')) keepFromStartingPostgres();
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], {
    DEBIAN_FRONTEND: 'noninteractive',
  });
}

/** The tests start servers of their own; the package would make one for the whole machine, and run it. */
function keepFromStartingPostgres() {
  const folder = '/etc/postgresql-common/createcluster.d';
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tocsin-tests.conf'), 'create_main_cluster = false\n');
}

function isMissing(program) {
  if (program.includes('*')) return !isThere(program);
  // Debian keeps servers in /usr/sbin, which is not on everybody's path.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return !folders.some((folder) => folder && existsSync(join(folder, program)));
}

/** A path with one `*`. */
function isThere(pattern) {
  const [before, after] = pattern.split('*');
  return existsSync(before) && readdirSync(before).some((name) => existsSync(join(before, name, after)));
}

function run(command, args, env = {}) {
  // Output goes to stderr: stdout belongs to the command that setup precedes.
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
    env: { ...process.env, ...env },
    shell: process.platform === 'win32',
  });
  if (status === 0) return;
  say(
    `'${command} ${args.join(' ')}' failed${error ? `: ${error.message}` : ` with exit code ${status}`}. Fix the cause named above, then run this again.`,
  );
  process.exit(1);
}

function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}
