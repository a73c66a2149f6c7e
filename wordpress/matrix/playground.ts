// PHP of other versions, compiled to WebAssembly: it runs on the files of a site that was made with the PHP of this
// machine, and talks to the same gateway.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConnectedSite } from '../test/support/connected-site.ts';
import { sqliteDropIn, wordpressCache, wordpressTree } from '../test/support/wordpress-files.ts';
import { WordPressSite } from '../test/support/wordpress-site.ts';

const version = '3.1.56';
/** The newest that its native part is built for. */
const nodeVersion = '24.21.0';
const nodePackage = `node-${process.platform}-${process.arch}`;
const folder = join(wordpressCache, `playground-${version}`);
const repository = fileURLToPath(new URL('../..', import.meta.url));

/** 600 MB, once. */
export function installPlayground(): void {
  if (existsSync(join(folder, 'installed'))) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const packages = [`@wp-playground/cli@${version}`, `${nodePackage}@${nodeVersion}`];
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['install', ...options, ...packages], { cwd: folder, stdio: 'inherit' });
  assert.equal(status, 0, 'npm could not install Playground');
  writeFileSync(join(folder, 'installed'), '');
}

/** Gives back what it found out about itself: `WordPress 7.1.1 on PHP 7.4.33`. */
export async function checkInPlayground(php: string): Promise<string> {
  const connected = await ConnectedSite.create();
  try {
    const { site } = connected;
    run(php, site, [`require '${repository}wordpress/matrix/check.php';`]);
    const found = JSON.parse(readFileSync(join(site.folder, 'matrix.json'), 'utf8'));
    const { php: phpVersion, wordpress, files, ...results } = found;
    assert.ok(phpVersion.startsWith(php) && files > 10, JSON.stringify(found));
    assert.deepEqual(results, {
      unparsed: [],
      registered: [true, true],
      unchanged: true,
      monitoring: true,
      error: '',
      counts: { ...results.counts, waiting: 0, sent: 2, dead: 0 },
    });
    const titles = (await connected.received()).map(({ title }) => title);
    const expected = ['Matrix action Hello world!', 'Matrix filter Hello world!'];
    assert.deepEqual(titles.filter((title) => title.startsWith('Matrix')).sort(), expected);
    await runPhpUnit(php);
    return `WordPress ${wordpress} on PHP ${phpVersion}`;
  } finally {
    await connected.remove();
  }
}

async function runPhpUnit(php: string): Promise<void> {
  const site = await WordPressSite.create();
  const tests = `${repository}wordpress/test/php`;
  run(php, site, [
    `$_SERVER['argv'] = $argv = array( 'phpunit', '--configuration=${tests}/phpunit.xml.dist' );`,
    '$_SERVER["argc"] = $argc = 2;',
    `require '${tests}/bootstrap.php';`,
    "ini_set( 'memory_limit', '1G' );",
    "set_include_path( '.:/usr/share/php' );",
    "define( 'PHPUNIT_COMPOSER_INSTALL', 'PHPUnit/Autoload.php' );",
    'require PHPUNIT_COMPOSER_INSTALL;',
    'PHPUnit\\TextUI\\Command::main();',
  ]);
  await site.remove();
}

/** The environment does not reach this PHP, and options of a script would be taken for its own: all goes into a file. */
function run(php: string, site: WordPressSite, code: string[]): void {
  const environment = Object.entries(site.environment()).map(([name, value]) => `putenv( '${name}=${value}' );`);
  const lastWords = 'register_shutdown_function( function () { fwrite( STDERR, json_encode( error_get_last() ) ); } );';
  const script = join(site.folder, 'in-playground.php');
  writeFileSync(script, ['<?php', lastWords, ...environment, ...code, ''].join('\n'));
  const same = [site.folder, sqliteDropIn, repository.replace(/\/$/, ''), '/usr/share/php'];
  const { status, stdout, stderr } = spawnSync(
    join(folder, 'node_modules', nodePackage, 'bin', 'node'),
    [
      join(folder, 'node_modules', '@wp-playground', 'cli', 'wp-playground.js'),
      ...['php', `--php=${php}`, '--verbosity=quiet', '--wordpress-install-mode=do-not-attempt-installing'],
      // The site brings its own.
      '--skip-sqlite-setup',
      `--mount-before-install=${wordpressTree}:/wordpress`,
      ...same.map((path) => `--mount=${path}:${path}`),
      ...['--', script],
    ],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, `PHP ${php} ended with ${status}:\n${stdout.slice(-8000)}${stderr}\n${site.debugLog()}`);
}
