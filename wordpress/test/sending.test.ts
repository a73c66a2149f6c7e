// Events of a page are sent after it by a loopback request, even if WP-Cron is disabled.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, before, suite, type TestContext, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { Nginx, nginxObstacle } from '@tocsin/test-support/nginx.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { createTestAuthority } from '@tocsin/test-support/tls-ca.ts';
import { ConnectedSite } from './support/connected-site.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

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

/** Starts a server that reads requests and never responds. */
async function silentServer(t: TestContext, scheme: string, onRequest: (text: string) => void): Promise<number> {
  const listen = (socket: Socket): void => {
    let text = '';
    socket.on('error', () => undefined).setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (text.includes('token=')) onRequest(text);
    });
    t.after(() => socket.destroy());
  };
  const server = scheme === 'https' ? createTlsServer(selfSigned(t), listen) : createServer(listen);
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

function selfSigned(t: TestContext): { cert: Buffer; key: Buffer } {
  const authority = createTestAuthority();
  t.after(() => authority.remove());
  const { certFile, keyFile } = authority.issue('IP:127.0.0.1');
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

/** Templates for changes of options, which the companion itself makes too. */
const optionTemplates = `<?php
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

const everyRequest = `<?php
add_action( 'tocsin_register_templates', function () {
	tocsin_register_template( array(
		'title' => 'Every request', 'hook_name' => 'every_request', 'message_title' => 'Request {path}', 'enabled' => true,
		'hook_meta' => array( 'arg_names' => array( 'path' ) ),
	) );
} );
add_action( 'wp_loaded', fn() => do_action( 'every_request', $_SERVER['REQUEST_URI'] ) );
`;

suite('Sending after the page', () => {
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
      async () => (await connected.received()).map(({ content }) => content.title),
      (titles) => titles.includes(title),
    );
  const loopbacksOf = (path: string) =>
    connected.site
      .requests()
      .filter(({ url, within }) => url.endsWith('/wp-admin/admin-ajax.php') && within === `GET ${path}`);

  /** Sets the URL of the loopback request until the test ends. */
  const sendLoopbackTo = (t: TestContext, url: string): void => {
    const rule = `add_filter( 'tocsin_loopback_request', fn( $request ) => array( 'url' => '${url}' ) + $request );`;
    connected.site.write('mu-plugins/loopback.php', `<?php ${rule}`);
    t.after(() => connected.site.write('mu-plugins/loopback.php', ''));
  };

  test('a page with an event starts one run without waiting for it; a page without events starts none', async (t) => {
    if (!canRun(t, obstacle)) return;
    assert.equal((await connected.site.get('/?nothing=1')).status, 200);
    assert.equal((await connected.site.get('/?fire=Bell')).status, 200);
    await arrives('Bell');
    assert.deepEqual(loopbacksOf('/?nothing=1'), []);
    assert.equal(loopbacksOf('/?fire=Bell').length, 1);
  });

  for (const scheme of ['http', 'https']) {
    test(`a page does not wait for the response to its loopback request over ${scheme}`, async (t) => {
      if (!canRun(t, obstacle)) return;
      const requested = Promise.withResolvers<string>();
      const server = await silentServer(t, scheme, (request) => requested.resolve(request));
      sendLoopbackTo(t, `${scheme}://127.0.0.1:${server}/wp-admin/admin-ajax.php`);
      assert.equal((await connected.site.get(`/?fire=Silent+${scheme}`)).status, 200);
      assert.match(
        await requested.promise,
        /^POST \/wp-admin\/admin-ajax\.php HTTP\/1\.1\r\n.*\r\n\r\naction=tocsin_run&token=\d{13}%3A/s,
      );
    });
  }

  test('starts a run behind a proxy that cancels requests of disconnected clients', async (t) => {
    if (!canRun(t, obstacle) || !canRun(t, nginxObstacle())) return;
    const nginx = await Nginx.start('server { listen HERE; location / { proxy_pass http://SITE; } }', (port) => ({
      HERE: `127.0.0.1:${port}`,
      SITE: new URL(connected.site.url).host,
    }));
    t.after(() => nginx.stop());
    sendLoopbackTo(t, `http://127.0.0.1:${nginx.port}/wp-admin/admin-ajax.php`);
    for (const title of ['Behind a proxy', 'Behind it again', 'And again']) {
      assert.equal((await connected.site.get(`/?fire=${title.replaceAll(' ', '+')}`)).status, 200);
      await arrives(title);
    }
  });

  test('sends the event of a visitor who disconnected before the response', async (t) => {
    if (!canRun(t, obstacle)) return;
    const { hostname, port } = new URL(connected.site.url);
    const visitor = connect(Number(port), hostname);
    visitor.end(`GET /?fire=Disconnected HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`, () => visitor.destroy());
    await arrives('Disconnected');
  });

  test('sends events that occurred before a fatal error', async (t) => {
    if (!canRun(t, obstacle)) return;
    assert.equal((await connected.site.get('/?fire=Before+the+error&fatal=1')).status, 500);
    await arrives('Before the error');
  });

  const tokenOf = (age: number) =>
    connected.site.php<string>(
      `$token = new ReflectionMethod( 'Tocsin_Loopback', 'token' );
      $token->setAccessible( true );
      return $token->invoke( null, Tocsin_Queue::now() - $input );`,
      age,
    );
  const requestRun = async (token: string) => {
    const body = new URLSearchParams({ action: 'tocsin_run', token });
    return (await fetch(`${connected.site.url}/wp-admin/admin-ajax.php`, { method: 'POST', body })).status;
  };

  test('only the site itself can start a run, and each token is valid once', async (t) => {
    if (!canRun(t, obstacle)) return;
    const valid = await tokenOf(0);
    assert.equal(await requestRun(''), 403);
    assert.equal(await requestRun(valid.replace(/.$/, (last) => (last === '0' ? '1' : '0'))), 403);
    assert.equal(await requestRun(await tokenOf(61_000)), 403);
    assert.equal(await requestRun(valid), 204);
    assert.equal(await requestRun(valid), 403);
  });

  test('a corrected clock does not prevent the site from starting runs', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.site.php(`return update_option( 'tocsin_loopback_used', Tocsin_Queue::now() + 7200000, false );`);
    assert.equal(await requestRun(await tokenOf(0)), 204);
  });

  test('a template that fires on every request, including loopback requests, does not start runs in a loop', async (t) => {
    if (!canRun(t, obstacle)) return;
    const token = await tokenOf(0);
    connected.site.write('mu-plugins/every-request.php', everyRequest);
    t.after(() => connected.site.write('mu-plugins/every-request.php', ''));
    const before = connected.site.requests().length;
    assert.equal(await requestRun(token), 204);
    assert.deepEqual(
      connected.site
        .requests()
        .slice(before)
        .filter(({ url }) => url.endsWith('/wp-admin/admin-ajax.php')),
      [],
    );
    await connected.runQueue();
    await arrives('Request /wp-admin/admin-ajax.php');
  });

  test('changes of options by the companion itself create no events', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.runQueue();
    connected.site.write('mu-plugins/option-templates.php', optionTemplates);
    assert.equal((await connected.site.get('/?option=1')).status, 200);
    await arrives('added_option a_test_option');
    assert.equal((await connected.site.get('/?option=2')).status, 200);
    await arrives('updated_option a_test_option');
    for (let run = 0; run < 3; run += 1) await connected.runQueue();
    const titles = (await connected.received())
      .map(({ content }) => content.title)
      .filter((title) => title.includes('_option '));
    assert.deepEqual(titles, ['added_option a_test_option', 'updated_option a_test_option']);
  });
});

test('an event of a site that is deleted in the same request does not recreate its table', async (t) => {
  if (!canRun(t, obstacle)) return;
  const network = await WordPressSite.create({ multisite: true });
  t.after(() => network.remove());
  await network.php(
    `require_once ABSPATH . 'wp-admin/includes/ms.php';
    $site = wpmu_create_blog( getenv( 'WORDPRESS_HOST' ), '/two/', 'Two', 1 );
    switch_to_blog( $site );
    Tocsin_Companion::get_instance()->queue()->add( array( 'template_id' => 'test', 'title' => 'Deleted' ) );
    restore_current_blog();
    wpmu_delete_blog( $site, true );
    return $site;`,
  );
  assert.deepEqual(await network.php(`return $GLOBALS['wpdb']->get_col( "SHOW TABLES LIKE 'wp_2_%'" );`), []);
});
