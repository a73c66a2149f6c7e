// A page that breaks: the owner hears of it, once, without what stood on the stack.
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
// What others do while WordPress shows its page about an error may go wrong too, and then is PHP's last error.
add_filter( 'wp_php_error_message', function ( $message ) { @filesize( '/no-such-file' ); return $message; } );
`;

test('a fatal error rings once, also an early one and one of memory, without the stack', async (t) => {
  if (!canRun(t, wordpressObstacle())) return;
  const connected = await ConnectedSite.create({ plugins: { 'breaking/breaking.php': breaking } });
  t.after(() => connected.remove());
  await connected.site.php(
    `return Tocsin_Companion::get_instance()->settings()->save_template( 'fatal_error', true );`,
  );
  await connected.site.serve();
  for (const path of ['/?early=1', '/?early=1', '/?late=1&token=of-the-visitor', '/?memory=1']) {
    assert.equal((await connected.site.get(path)).status, 500, path);
  }
  await connected.runQueue();
  const heard = (await connected.received()).filter(({ title }) => title === 'Fatal error on A test site');
  const bodies = heard.map(({ body }) => body.split('\n')[0] ?? '').sort();
  assert.equal(bodies.length, 3, JSON.stringify(heard));
  assert.match(bodies[0] ?? '', /^Allowed memory size/);
  assert.match(bodies[1] ?? '', /^Uncaught Error: Call to undefined function no_such_function\(\)/);
  assert.match(bodies[2] ?? '', /^Uncaught RuntimeException: It broke$/);
  assert.ok(heard.every(({ severity }) => severity === 'critical'));
  assert.doesNotMatch(JSON.stringify(heard), /stack-word|of-the-visitor/);
  // PHP's own words about the four pages, and nothing of the companion. WordPress 6.2 complains about its own page when an
  // error comes before the query.
  const log = connected.site
    .takeDebugLog()
    .replaceAll(/^.*PHP Notice: +Function is_(embed|search) was called.*$/gm, '');
  assert.doesNotMatch(log, /PHP (Notice|Warning|Deprecated)|plugins\/tocsin/);
});
