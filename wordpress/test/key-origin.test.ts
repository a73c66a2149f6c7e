// An API key is sent only to the origin (scheme, host and port) that it was entered for; one from wp-config.php only to
// an address from wp-config.php. Real log-ins, real forms; a server of a stranger listens where the key must not arrive.
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
const unused = { authenticated: 0, signed: 0, named: 0 };

suite('The origin of an API key', () => {
  let gateway: RecordingServer;
  let stranger: RecordingServer;

  beforeEach(async () => {
    [gateway, stranger] = await Promise.all([RecordingServer.start(), RecordingServer.start()]);
  });
  afterEach(() => Promise.all([gateway.stop(), stranger.stop()]));

  function onSite(name: string, multisite: boolean, run: (site: WordPressSite, t: TestContext) => Promise<void>): void {
    void test(name, async (t) => {
      if (!canRun(t, obstacle)) return;
      const site = await WordPressSite.create({ multisite });
      t.after(() => site.remove());
      await run(site, t);
    });
  }

  /** Sends in every way there is: the button, the queue, the commands. */
  async function sendInEveryWay(site: WordPressSite, visitor: SiteVisitor, path = ''): Promise<void> {
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
    // The check also sends what waits, so there may be more than one.
    const { authenticated, signed, named } = gateway.uses(key);
    assert.ok(authenticated > before);
    assert.deepEqual([signed, named], [authenticated, authenticated]);
  }

  onSite(
    'an address of another origin, entered without the key, is refused and never gets the stored key',
    false,
    async (site) => {
      const admin = await connect(site);
      const port = (server: RecordingServer) => new URL(server.url).port;
      const addresses = [
        `${stranger.url}/a/folder`,
        gateway.url.replace('127.0.0.1', 'localhost'),
        gateway.url.replace('http:', 'https:'),
        `http://127.0.0.1:${port(gateway)}\\@127.0.0.1:${port(stranger)}/`,
      ];
      const moreAddresses = [
        stranger.url,
        stranger.url.replace('127.0.0.1', 'localhost'),
        `http://127.0.0.1:${port(gateway)}@127.0.0.1:${port(stranger)}/`,
        `http://127.0.0.1:${port(stranger)}#@127.0.0.1:${port(gateway)}/`,
        `http://127.0.0.1:${port(stranger)}\\.127.0.0.1:${port(gateway)}/`,
        `http://127.0.0.%31:${port(stranger)}/`,
        `http://127.0.0.1:0${port(stranger)}/`,
      ];
      for (const url of isLongRun ? [...addresses, ...moreAddresses] : addresses) {
        const html = await submit(admin, 'tocsin_save_connection', { url });
        assert.match(html, /Nothing was saved\./, url);
        await submit(admin, 'tocsin_monitoring_check', {});
      }
      assert.match(await submit(admin, 'tocsin_save_connection', { url: stranger.url }), /Enter the API key again/);
      await submit(admin, 'tocsin_save_connection', { url: stranger.url, key: 'no key at all' });
      await sendInEveryWay(site, admin);
      assert.deepEqual(stranger.requests, []);
      assert.equal(await site.php(`return get_option( 'tocsin_url' );`), gateway.url);

      assert.match(
        await submit(admin, 'tocsin_save_connection', { url: `${gateway.url}/folder` }),
        /Connection saved\./,
      );
      await expectKeyToWork(site);
    },
  );

  onSite('an address that was changed past the form never gets the stored key, whatever sends', false, async (site) => {
    const admin = await connect(site);
    const filter = 'mu-plugins/another-address.php';
    const ways: Record<string, () => Promise<unknown>> = {
      'the page of all options': async () => {
        const html = await (await admin.get('/wp-admin/options.php')).text();
        const nonce = /name="_wpnonce" value="(\w+)"/.exec(html)?.[1] ?? '';
        const form = { option_page: 'options', action: 'update', page_options: 'tocsin_url', tocsin_url: stranger.url };
        assert.equal((await admin.post('/wp-admin/options.php', { ...form, _wpnonce: nonce })).status, 302);
        assert.equal(await site.wp('option', 'get', 'tocsin_url'), stranger.url);
      },
      'the command line': () => site.wp('option', 'update', 'tocsin_url', stranger.url),
      'a function of the plugin': () =>
        site.php(`return Tocsin_Companion::get_instance()->settings()->save_url( $input );`, stranger.url),
      'a filter of the option': async () =>
        site.write(filter, `<?php add_filter( 'option_tocsin_url', fn() => '${stranger.url}' );`),
      'a filter before the option': async () =>
        site.write(filter, `<?php add_filter( 'pre_option_tocsin_url', fn() => '${stranger.url}' );`),
    };
    const shortRun = ['the page of all options', 'a function of the plugin', 'a filter before the option'];
    const tried = isLongRun ? Object.keys(ways) : shortRun;
    for (const way of tried) {
      await ways[way]?.();
      await sendInEveryWay(site, admin);
      assert.deepEqual(stranger.requests, [], way);
      const html = await (await admin.get(screen)).text();
      assert.match(html, /The stored API key was not entered for http:\/\/127\.0\.0\.1:\d+/, way);
      assert.match(await site.wp('tocsin', 'status'), /not entered for http/, way);
      site.write(filter, '<?php');
      await site.php(`return update_option( 'tocsin_url', $input );`, gateway.url);
      await expectKeyToWork(site);
    }
    const arrivedFromQueue = async () => {
      await site.php('return Tocsin_Companion::get_instance()->runner()->run();');
      const fromQueue = gateway.requests.filter(({ body }) => body.includes('From the queue'));
      return new Set(fromQueue.map(({ headers }) => headers['idempotency-key'])).size;
    };
    const wanted = tried.length;
    await eventually(
      'what waited arrives at the address of the key',
      70_000,
      arrivedFromQueue,
      (size) => size === wanted,
    );
  });

  onSite('a redirect to another origin is not followed, also if another plugin wants it to be', false, async (site) => {
    const admin = await connect(site);
    site.write(
      'mu-plugins/follow.php',
      `<?php add_filter( 'http_request_args', fn( $args ) => array( 'redirection' => 5 ) + $args, PHP_INT_MAX );`,
    );
    for (const status of isLongRun ? [301, 302, 303, 307, 308] : [302, 307]) {
      const before = gateway.requests.length;
      gateway.redirect = { status, location: `${stranger.url}/` };
      await sendInEveryWay(site, admin);
      assert.ok(gateway.requests.length > before, String(status));
      assert.deepEqual(stranger.requests, [], String(status));
    }
  });

  onSite('a new address with its own key sends what waits there, with that key only', false, async (site) => {
    const admin = await connect(site);
    gateway.redirect = { status: 302, location: '/' };
    await sendInEveryWay(site, admin);
    await site.stopServing();
    await site.serve();
    assert.match(
      await submit(admin, 'tocsin_save_connection', { url: stranger.url, key: otherKey }),
      /Connection saved\..*It is sent only to http:\/\/127\.0\.0\.1:\d+/s,
    );
    await sendInEveryWay(site, admin);
    const { authenticated, signed } = stranger.uses(otherKey);
    assert.ok(authenticated >= 4 && signed === authenticated && signed === stranger.requests.length);
    assert.deepEqual(stranger.uses(key), unused);
    assert.deepEqual(gateway.uses(otherKey), unused);
  });

  onSite('a wrong address beside a new key does not send the new key to the old address', false, async (site) => {
    const admin = await connect(site);
    for (const url of ['gateway.example.com', 'ftp://example.com', '']) {
      assert.match(await submit(admin, 'tocsin_save_connection', { url, key: otherKey }), /Nothing was saved\./, url);
    }
    await sendInEveryWay(site, admin);
    assert.deepEqual(gateway.uses(otherKey), unused);
    await expectKeyToWork(site);
  });

  onSite('a key that an older version stored goes on to its address and to no other', false, async (site) => {
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
    await site.wp('option', 'update', 'tocsin_url', stranger.url);
    // The version that the page of all options shows can be edited there: an upgrade does not bind a second time.
    await site.wp('option', 'update', 'tocsin_db_version', '1');
    await sendInEveryWay(site, admin);
    assert.deepEqual(stranger.requests, []);
  });

  onSite(
    'a key from wp-config.php goes on to the address that an older version had stored, and to no other',
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
        await submit(admin, 'tocsin_save_connection', { url: stranger.url }),
        /Nothing was saved\..*TOCSIN_URL/s,
      );
      await site.wp('option', 'update', 'tocsin_url', stranger.url);
      await site.wp('option', 'update', 'tocsin_db_version', '1');
      await sendInEveryWay(site, admin);
      assert.deepEqual(stranger.requests, []);
      const { stderr } = await site.tryWp('tocsin', 'check');
      assert.match(stderr, /define\( 'TOCSIN_URL'/);
      await site.wp('option', 'update', 'tocsin_url', gateway.url);
      await expectKeyToWork(site);
    },
  );

  onSite(
    'another key in wp-config.php is not sent to the address of the one before, until TOCSIN_URL says so',
    false,
    async (site) => {
      await site.php(asOlderVersion(''), { url: stranger.url });
      await site.php(`define( 'TOCSIN_KEY', $input ); Tocsin_Install::upgrade(); return true;`, otherKey);
      site.define({ TOCSIN_KEY: key });
      await site.serve();
      await sendInEveryWay(site, await site.login());
      assert.deepEqual(stranger.uses(key), unused);
      site.define({ TOCSIN_URL: gateway.url });
      await expectKeyToWork(site);
      assert.deepEqual(stranger.uses(key), unused);
    },
  );

  onSite('the key of a network is out of reach for the administrators of its sites', true, async (site) => {
    const publicAddress = 'http://93.184.216.34';
    // What would leave the machine for this address arrives at the stranger's server.
    site.write(
      'mu-plugins/route.php',
      `<?php add_filter( 'pre_http_request', fn( $answer, $args, $url ) => 0 === strpos( $url, '${publicAddress}' ) ? wp_remote_request( '${stranger.url}', $args ) : $answer, 2, 3 );`,
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
      // What follows shows it as well: with the address in place all the more would be sent there.
      if (isLongRun) await sendInEveryWay(site, visitor, path);
      await site.php(`return update_option( 'tocsin_url', $input );`, publicAddress, `${path}/`);
      await sendInEveryWay(site, visitor, path);
      assert.deepEqual(stranger.requests, [], path);
    }
    await site.php(`return update_option( 'tocsin_url', $input );`, gateway.url, '/third/');
    await expectKeyToWork(site, '/third');

    // An administrator of the network is refused as well: wp-config.php is the only place.
    const admin = await site.login();
    await submit(admin, 'tocsin_save_connection', { url: stranger.url }, '/third');
    await sendInEveryWay(site, admin, '/third');
    assert.deepEqual(stranger.requests, []);
    site.define({ TOCSIN_URL: gateway.url });
    await expectKeyToWork(site, '/second');
  });
});

test('the password of a visitor goes with the call of the site to itself, and to no other host', async (t) => {
  if (!canRun(t, obstacle)) return;
  const stranger = await RecordingServer.start();
  t.after(() => stranger.stop());
  const site = await WordPressSite.create();
  t.after(() => site.remove());
  site.write(
    'mu-plugins/fire.php',
    `<?php
    add_action( 'tocsin_register_templates', fn() => tocsin_register_template( array( 'title' => 'Fired', 'hook_name' => 'fired', 'enabled' => true ) ) );
    add_action( 'wp', fn() => isset( $_GET['fire'] ) && do_action( 'fired' ) );
    add_filter( 'tocsin_loopback_request', function ( $request ) {
      file_put_contents( getenv( 'WORDPRESS_SITE' ) . '/loop-back.json', wp_json_encode( $request ) );
      return $request;
    } );`,
  );
  await site.serve();
  const authorization = `Basic ${Buffer.from('visitor:password').toString('base64')}`;
  const loopback = async () => {
    const file = join(site.folder, 'loop-back.json');
    rmSync(file, { force: true });
    // Only the first event after a run starts another one at once.
    await site.php(`delete_option( 'tocsin_runner_lock' ); Tocsin_Downtime::end(); return true;`);
    assert.equal((await fetch(`${site.url}/?fire=1`, { headers: { authorization } })).status, 200);
    await eventually(
      'the site calls itself',
      30_000,
      async () => existsSync(file),
      (isThere) => isThere,
    );
    return JSON.parse(readFileSync(file, 'utf8')) as { url: string; headers: Record<string, string> };
  };
  assert.equal((await loopback()).headers.Authorization, authorization);
  await site.php(`return update_option( 'siteurl', $input );`, stranger.url);
  assert.ok((await loopback()).url.startsWith(stranger.url));
  await eventually(
    'the call arrives',
    30_000,
    async () => stranger.requests.length,
    (count) => count > 0,
  );
  assert.deepEqual(
    stranger.requests.map(({ headers }) => headers.authorization),
    stranger.requests.map(() => undefined),
  );
});

/** PHP that leaves a site as the version before key origins did: with an address, and what `more` adds. */
function asOlderVersion(more: string): string {
  return `update_option( 'tocsin_url', $input['url'], false );
    delete_option( 'tocsin_key_origin' );
    ${more}
    return update_option( 'tocsin_db_version', '1', true );`;
}

/** Sends a form of the connection screen with the nonce that the screen holds, and gives back the screen after it. */
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
