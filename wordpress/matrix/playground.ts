// Runs the short contract test or PHPUnit on another version of PHP, compiled to WebAssembly, with a site that was created by
// the PHP of this machine and the same gateway. Prints the result as the last line:
// node wordpress/matrix/playground.ts 7.4 contract|phpunit
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ConnectedSite } from '../test/support/connected-site.ts';
import { sqliteDropIn, wordpressCache, wordpressTree } from '../test/support/wordpress-files.ts';
import { WordPressSite } from '../test/support/wordpress-site.ts';

const version = '3.1.56';
/** The newest Node.js version supported by its native module. */
const nodeVersion = '24.21.0';
const nodePackage = `node-${process.platform}-${process.arch}`;
const folder = join(wordpressCache, `playground-${version}`);
const repository = fileURLToPath(new URL('../..', import.meta.url));

const [php = '', part] = process.argv.slice(2);

installPlayground();
console.log(JSON.stringify(part === 'contract' ? await checkContract() : { passed: await runPhpUnit() }));

/** Installs Playground once; it takes 600 MB. */
function installPlayground(): void {
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

async function checkContract(): Promise<{ php: string; wordpress: string; database: string }> {
  const connected = await ConnectedSite.create();
  try {
    const { site } = connected;
    await run(site, [`require '${repository}wordpress/matrix/check.php';`]);
    const found = JSON.parse(readFileSync(join(site.folder, 'matrix.json'), 'utf8'));
    const { versions, files, ...results } = found;
    assert.ok(versions.php.startsWith(`${php}.`) && files > 10, JSON.stringify(found));
    assert.deepEqual(results, {
      unparsed: [],
      registered: [true, true],
      unchanged: true,
      monitoring: true,
      error: '',
      counts: { ...results.counts, waiting: 0, sent: 2, dead: 0 },
    });
    const titles = (await connected.received()).map(({ content }) => content.title);
    const expected = ['Matrix action Hello world!', 'Matrix filter Hello world!'];
    assert.deepEqual(titles.filter((title) => title.startsWith('Matrix')).sort(), expected);
    return versions;
  } finally {
    await connected.remove();
  }
}

/** Returns the number of passed tests. */
async function runPhpUnit(): Promise<number> {
  const site = await WordPressSite.create();
  try {
    const tests = `${repository}wordpress/test/php`;
    const output = await run(site, [
      `$_SERVER['argv'] = $argv = array( 'phpunit', '--configuration=${tests}/phpunit.xml.dist' );`,
      '$_SERVER["argc"] = $argc = 2;',
      `require '${tests}/bootstrap.php';`,
      "ini_set( 'memory_limit', '1G' );",
      "set_include_path( '.:/usr/share/php' );",
      "define( 'PHPUNIT_COMPOSER_INSTALL', 'PHPUnit/Autoload.php' );",
      'require PHPUNIT_COMPOSER_INSTALL;',
      'PHPUnit\\TextUI\\Command::main();',
    ]);
    const [, passed] = /^OK \((\d+) tests/m.exec(output) ?? [];
    assert.ok(passed !== undefined, output);
    return Number(passed);
  } finally {
    await site.remove();
  }
}

/** Runs PHP code from a file: Playground does not pass the environment, and would parse options of a script as its own. */
async function run(site: WordPressSite, code: string[]): Promise<string> {
  const environment = Object.entries(site.environment()).map(([name, value]) => `putenv( '${name}=${value}' );`);
  const printLastError =
    'register_shutdown_function( function () { fwrite( STDERR, json_encode( error_get_last() ) ); } );';
  const script = join(site.folder, 'in-playground.php');
  writeFileSync(script, ['<?php', printLastError, ...environment, ...code, ''].join('\n'));
  const mounts = [site.folder, sqliteDropIn, repository.replace(/\/$/, ''), '/usr/share/php'];
  const child = spawn(
    join(folder, 'node_modules', nodePackage, 'bin', 'node'),
    [
      join(folder, 'node_modules', '@wp-playground', 'cli', 'wp-playground.js'),
      ...['php', `--php=${php}`, '--verbosity=quiet', '--wordpress-install-mode=do-not-attempt-installing'],
      // The site contains the SQLite drop-in.
      '--skip-sqlite-setup',
      `--mount-before-install=${wordpressTree}:/wordpress`,
      ...mounts.map((path) => `--mount=${path}:${path}`),
      ...['--', script],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  assert.equal(status, 0, `PHP ${php} exited with ${status}:\n${stdout.slice(-8000)}${stderr}\n${site.debugLog()}`);
  return stdout;
}
