// Fatal errors are reported once, without the stack trace.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { ConnectedSite } from './support/connected-site.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

const breaking = `<?php
/* Plugin Name: Breaking */
function breaking_with( $word ) { throw new RuntimeException( "It broke\\nunder the word " . $word ); }
add_action( 'plugins_loaded', function () { if ( isset( $_GET['early'] ) ) { breaking_with( 'stack-word' ); } }, 20 );
add_action( 'wp', function () {
	if ( isset( $_GET['late'] ) ) { no_such_function(); }
	if ( isset( $_GET['memory'] ) ) { ini_set( 'memory_limit', memory_get_usage() + 4000000 ); $GLOBALS['much'] = array(); while ( true ) { $GLOBALS['much'][] = str_repeat( 'x', 10000 ); } }
} );
// A warning raised while WordPress shows its error page replaces PHP's last error.
add_filter( 'wp_php_error_message', function ( $message ) { @filesize( '/no-such-file' ); return $message; } );
`;

test('reports a fatal error once, including early and out-of-memory errors, without the stack trace', async (t) => {
  if (!canRun(t, wordpressObstacle())) return;
  const connected = await ConnectedSite.create({ plugins: { 'breaking/breaking.php': breaking } });
  t.after(() => connected.remove());
  await connected.site.php(
    `return Tocsin_Companion::get_instance()->template_settings()->save( 'fatal_error', true );`,
  );
  await connected.site.serve();
  for (const path of ['/?early=1', '/?early=1', '/?late=1&token=of-the-visitor', '/?memory=1']) {
    assert.equal((await connected.site.get(path)).status, 500, path);
  }
  await connected.runQueue();
  const received = (await connected.received()).map(({ content }) => content);
  const reports = received.filter(({ title }) => title === 'Fatal error on A test site');
  const bodies = reports.map(({ body }) => body.split('\n')[0] ?? '').sort();
  assert.equal(bodies.length, 3, JSON.stringify(reports));
  assert.match(bodies[0] ?? '', /^Allowed memory size/);
  assert.match(bodies[1] ?? '', /^Uncaught Error: Call to undefined function no_such_function\(\)/);
  assert.match(bodies[2] ?? '', /^Uncaught RuntimeException: It broke$/);
  assert.ok(reports.every(({ severity }) => severity === 'critical'));
  assert.doesNotMatch(JSON.stringify(reports), /stack-word|of-the-visitor/);
  // The log contains PHP's messages about the four errors, and nothing about the companion. WordPress 6.2 logs notices about
  // its own error page if the error occurs before the query.
  const log = connected.site
    .takeDebugLog()
    .replaceAll(/^.*PHP Notice: +Function is_(embed|search) was called.*$/gm, '');
  assert.doesNotMatch(log, /PHP (Notice|Warning|Deprecated)|plugins\/tocsin/);
});
