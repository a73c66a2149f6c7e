// What a page sets off is sent after it, by a request of the site to itself, also where WP-Cron is switched off.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { eventually } from '../../packages/gateway/test/support/eventually.ts';
import { canRun } from '../../packages/gateway/test/support/requires.ts';
import { ConnectedSite } from './support/connected-site.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

const obstacle = wordpressObstacle();

const page = `<?php
add_action( 'wp', function () {
	if ( isset( $_GET['fire'] ) ) {
		Tocsin_Companion::get_instance()->queue()->add( array( 'template_id' => 'test', 'title' => $_GET['fire'], 'payload' => array() ) );
	}
	if ( isset( $_GET['fatal'] ) ) {
		error_log( 'The next line is meant to fail' );
		ini_set( 'log_errors', '0' );
		this_function_does_not_exist();
	}
} );
`;

/** Hears everything that the companion itself does with options, too. */
const listening = `<?php
add_action( 'tocsin_register_templates', function () {
	foreach ( array( 'added_option', 'updated_option', 'deleted_option' ) as $hook ) {
		tocsin_register_template( array(
			'title' => $hook, 'hook_name' => $hook, 'message_title' => "$hook {option}", 'enabled' => true,
			'hook_meta' => array( 'arg_names' => array( 'option' ) ),
		) );
	}
} );
add_action( 'wp', function () {
	if ( isset( $_GET['option'] ) ) {
		update_option( 'a_test_option', $_GET['option'] );
	}
} );
`;

suite('sending after the page', () => {
  let connected: ConnectedSite;

  before(async () => {
    if (obstacle !== null && obstacle !== undefined) return;
    connected = await ConnectedSite.create();
    connected.site.write('mu-plugins/page.php', page);
    connected.site.define({ DISABLE_WP_CRON: true });
    await connected.site.serve();
  });
  after(() => connected?.remove());

  const arrives = (title: string) =>
    eventually(
      `${title} arrives`,
      10_000,
      async () => (await connected.received()).map((notification) => notification.title),
      (titles) => titles.includes(title),
    );
  const loopbacksOf = (path: string) =>
    connected.site
      .requests()
      .filter(({ url, within }) => url.endsWith('/wp-admin/admin-ajax.php') && within === `GET ${path}`);

  test('a page that sets something off asks for one run and does not wait for it; any other page asks for none', async (t) => {
    if (!canRun(t, obstacle)) return;
    assert.equal((await connected.site.get('/?nothing=1')).status, 200);
    assert.equal((await connected.site.get('/?fire=Bell')).status, 200);
    await arrives('Bell');
    assert.deepEqual(loopbacksOf('/?nothing=1'), []);
    assert.deepEqual(
      loopbacksOf('/?fire=Bell').map(({ blocking }) => blocking),
      [false],
    );
  });

  test('what a visitor set off who left before the page came is sent all the same', async (t) => {
    if (!canRun(t, obstacle)) return;
    const { hostname, port } = new URL(connected.site.url);
    const visitor = connect(Number(port), hostname);
    visitor.end(`GET /?fire=Gone HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`, () => visitor.destroy());
    await arrives('Gone');
  });

  test('what happened before a fatal error is sent', async (t) => {
    if (!canRun(t, obstacle)) return;
    assert.equal((await connected.site.get('/?fire=Last+words&fatal=1')).status, 500);
    await arrives('Last words');
  });

  test('only the site itself can start a run, and with each token once', async (t) => {
    if (!canRun(t, obstacle)) return;
    const tokenOf = (age: number) =>
      connected.site.php<string>(
        `$token = new ReflectionMethod( 'Tocsin_Loopback', 'token' );
        $token->setAccessible( true );
        return $token->invoke( null, Tocsin_Queue::now() - $input );`,
        age,
      );
    const ask = async (token: string) => {
      const body = new URLSearchParams({ action: 'tocsin_run', token });
      return (await fetch(`${connected.site.url}/wp-admin/admin-ajax.php`, { method: 'POST', body })).status;
    };
    const good = await tokenOf(0);
    assert.equal(await ask(''), 403);
    assert.equal(await ask(good.replace(/.$/, (last) => (last === '0' ? '1' : '0'))), 403);
    assert.equal(await ask(await tokenOf(61_000)), 403);
    assert.equal(await ask(good), 204);
    assert.equal(await ask(good), 403);
  });

  test('what the companion does for sending is no news, whatever a template listens to', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.runQueue();
    connected.site.write('mu-plugins/listening.php', listening);
    assert.equal((await connected.site.get('/?option=1')).status, 200);
    await arrives('added_option a_test_option');
    assert.equal((await connected.site.get('/?option=2')).status, 200);
    await arrives('updated_option a_test_option');
    for (let run = 0; run < 3; run += 1) await connected.runQueue();
    const heard = (await connected.received()).map(({ title }) => title).filter((title) => title.includes('_option '));
    assert.deepEqual(heard, ['added_option a_test_option', 'updated_option a_test_option']);
  });
});
