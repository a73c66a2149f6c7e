// What a page sets off is sent after it, by a request of the site to itself, also where WP-Cron is switched off.
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

/** A server that reads and never answers. */
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

const everyRequest = `<?php
add_action( 'tocsin_register_templates', function () {
	tocsin_register_template( array(
		'title' => 'Every request', 'hook_name' => 'every_request', 'message_title' => 'Heard {path}', 'enabled' => true,
		'hook_meta' => array( 'arg_names' => array( 'path' ) ),
	) );
} );
add_action( 'wp_loaded', fn() => do_action( 'every_request', $_SERVER['REQUEST_URI'] ) );
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

  /** Where pages look for their own site, until the test ends. */
  const loopBackTo = (t: TestContext, url: string): void => {
    const rule = `add_filter( 'tocsin_loopback_request', fn( $request ) => array( 'url' => '${url}' ) + $request );`;
    connected.site.write('mu-plugins/loop-back.php', `<?php ${rule}`);
    t.after(() => connected.site.write('mu-plugins/loop-back.php', ''));
  };

  test('a page that sets something off asks for one run and does not wait for it; any other page asks for none', async (t) => {
    if (!canRun(t, obstacle)) return;
    assert.equal((await connected.site.get('/?nothing=1')).status, 200);
    assert.equal((await connected.site.get('/?fire=Bell')).status, 200);
    await arrives('Bell');
    assert.deepEqual(loopbacksOf('/?nothing=1'), []);
    assert.equal(loopbacksOf('/?fire=Bell').length, 1);
  });

  for (const scheme of ['http', 'https']) {
    test(`a page does not wait for the answer of its own site over ${scheme}`, async (t) => {
      if (!canRun(t, obstacle)) return;
      const asked = Promise.withResolvers<string>();
      const server = await silentServer(t, scheme, (request) => asked.resolve(request));
      loopBackTo(t, `${scheme}://127.0.0.1:${server}/wp-admin/admin-ajax.php`);
      assert.equal((await connected.site.get(`/?fire=Silent+${scheme}`)).status, 200);
      assert.match(
        await asked.promise,
        /^POST \/wp-admin\/admin-ajax\.php HTTP\/1\.1\r\n.*\r\n\r\naction=tocsin_run&token=\d{13}%3A/s,
      );
    });
  }

  test('behind a proxy, which drops the requests of those who leave, a run is started too', async (t) => {
    if (!canRun(t, obstacle) || !canRun(t, nginxObstacle())) return;
    const nginx = await Nginx.start('server { listen HERE; location / { proxy_pass http://SITE; } }', (port) => ({
      HERE: `127.0.0.1:${port}`,
      SITE: new URL(connected.site.url).host,
    }));
    t.after(() => nginx.stop());
    loopBackTo(t, `http://127.0.0.1:${nginx.port}/wp-admin/admin-ajax.php`);
    for (const title of ['Behind a proxy', 'Behind it again', 'And again']) {
      assert.equal((await connected.site.get(`/?fire=${title.replaceAll(' ', '+')}`)).status, 200);
      await arrives(title);
    }
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

  test('only the site itself can start a run, and with each token once', async (t) => {
    if (!canRun(t, obstacle)) return;
    const good = await tokenOf(0);
    assert.equal(await ask(''), 403);
    assert.equal(await ask(good.replace(/.$/, (last) => (last === '0' ? '1' : '0'))), 403);
    assert.equal(await ask(await tokenOf(61_000)), 403);
    assert.equal(await ask(good), 204);
    assert.equal(await ask(good), 403);
  });

  test('a clock that was put back does not keep the site from starting runs', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.site.php(`return update_option( 'tocsin_loopback_used', Tocsin_Queue::now() + 7200000, false );`);
    assert.equal(await ask(await tokenOf(0)), 204);
  });

  test('a template that hears every request, also those of the site to itself, does not start one run after the other', async (t) => {
    if (!canRun(t, obstacle)) return;
    const token = await tokenOf(0);
    connected.site.write('mu-plugins/every-request.php', everyRequest);
    t.after(() => connected.site.write('mu-plugins/every-request.php', ''));
    const before = connected.site.requests().length;
    assert.equal(await ask(token), 204);
    assert.deepEqual(
      connected.site
        .requests()
        .slice(before)
        .filter(({ url }) => url.endsWith('/wp-admin/admin-ajax.php')),
      [],
    );
    await connected.runQueue();
    await arrives('Heard /wp-admin/admin-ajax.php');
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

test('what happened on a site of a network that is deleted in the same request leaves nothing of it behind', async (t) => {
  if (!canRun(t, obstacle)) return;
  const network = await WordPressSite.create({ multisite: true });
  t.after(() => network.remove());
  await network.php(
    `require_once ABSPATH . 'wp-admin/includes/ms.php';
    $site = wpmu_create_blog( getenv( 'WORDPRESS_HOST' ), '/two/', 'Two', 1 );
    switch_to_blog( $site );
    Tocsin_Companion::get_instance()->queue()->add( array( 'template_id' => 'test', 'title' => 'Gone' ) );
    restore_current_blog();
    wpmu_delete_blog( $site, true );
    return $site;`,
  );
  assert.deepEqual(await network.php(`return $GLOBALS['wpdb']->get_col( "SHOW TABLES LIKE 'wp_2_%'" );`), []);
});
