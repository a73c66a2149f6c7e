// Access control of the screens in wp-admin, and escaping of hostile texts.
import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import type { SiteVisitor } from './support/site-visitor.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

const obstacle = wordpressObstacle();
const screens = ['tocsin', 'tocsin-templates', 'tocsin-log'].map((name) => `/wp-admin/admin.php?page=${name}`);
const actions: Record<string, Record<string, string>> = {
  tocsin_save_connection: { url: 'https://attacker.example.com', key: `svc_${'a'.repeat(38)}` },
  tocsin_monitoring_check: {},
  tocsin_save_templates: {},
  tocsin_resend: { event: '1' },
};
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)></textarea></title>{{7*7}}<b>`;

suite('Access to the screens', () => {
  let site: WordPressSite;

  before(async () => {
    if (obstacle !== null) return;
    site = await WordPressSite.create();
    site.write(
      'mu-plugins/template.php',
      `<?php add_action( 'tocsin_register_templates', function () {
        tocsin_register_template( array( 'id' => 'sample', 'title' => 'Sample', 'hook_name' => 'sample', 'icon' => ${quoted(`dashicons-bell" onclick="x`)}, 'description' => ${quoted(hostile)}, 'scenario_name' => ${quoted(hostile)}, 'hook_meta' => array( 'arg_names' => array( ${quoted(hostile)} ) ) ) );
        tocsin_register_template( array( 'id' => 'hidden', 'title' => 'Hidden', 'hook_name' => 'hidden', 'required_plugin' => ${quoted(hostile)}, 'scenario_name' => 'Elsewhere' ) );
      } );`,
    );
    await site.serve();
  });

  after(() => site?.remove());

  function onSite(name: string, run: (t: TestContext) => Promise<void>): void {
    void test(name, async (t) => {
      if (canRun(t, obstacle)) await run(t);
    });
  }

  /** Returns nonces that are valid for a visitor. */
  function noncesFor(visitor: SiteVisitor, ...names: string[]): Promise<Record<string, string>> {
    return site.php<Record<string, string>>(
      `$_COOKIE = $input['cookies'];
      wp_set_current_user( wp_validate_auth_cookie( $_COOKIE[ LOGGED_IN_COOKIE ], 'logged_in' ) );
      return array_combine( $input['names'], array_map( 'wp_create_nonce', $input['names'] ) );`,
      { names, cookies: decoded(visitor.cookies) },
    );
  }

  /** Submits a form with a valid nonce. */
  async function send(visitor: SiteVisitor, action: string, fields: Record<string, string>): Promise<Response> {
    const { [action]: nonce = '' } = await noncesFor(visitor, action);
    return visitor.post('/wp-admin/admin-post.php', { action, tocsin_nonce: nonce, ...fields });
  }

  /** Returns all data that the forms can change. */
  function currentState(): Promise<unknown> {
    return site.php(
      `$events = array_map( fn( $event ) => array( $event['id'], $event['state'] ), Tocsin_Companion::get_instance()->queue()->list() );
      return array( get_option( 'tocsin_url' ), get_option( 'tocsin_key' ), get_option( 'tocsin_templates' ), $events );`,
    );
  }

  onSite('subscribers and editors get 403 for every screen and action, even with a valid nonce', async () => {
    await addEvent('A failed event');
    const untouched = await currentState();
    for (const role of ['subscriber', 'editor']) {
      const visitor = await site.login(await site.createUser(role));
      for (const path of screens) assert.equal((await visitor.get(path)).status, 403, `${role} at ${path}`);
      const nonces = await noncesFor(visitor, ...Object.keys(actions));
      for (const [action, fields] of Object.entries(actions)) {
        const form = { action, tocsin_nonce: nonces[action] ?? '', ...fields };
        assert.equal((await visitor.post('/wp-admin/admin-post.php', form)).status, 403, `${role} with ${action}`);
        const link = `/wp-admin/admin-post.php?${new URLSearchParams(form)}`;
        assert.equal((await visitor.get(link)).status, 403, `${role} with ${action} as a link`);
      }
    }
    assert.deepEqual(await currentState(), untouched);
  });

  onSite('rejects actions without a nonce, with a wrong nonce or with the nonce of another form', async () => {
    const admin = await site.login();
    const untouched = await currentState();
    const { tocsin_other: ofAnother = '' } = await noncesFor(admin, 'tocsin_other');
    for (const [action, fields] of Object.entries(actions)) {
      for (const nonce of [{}, { tocsin_nonce: 'wrong' }, { tocsin_nonce: ofAnother }]) {
        const response = await admin.post('/wp-admin/admin-post.php', { action, ...fields, ...nonce });
        assert.equal(response.status, 403, `${action} with ${JSON.stringify(nonce)}`);
      }
    }
    assert.deepEqual(await currentState(), untouched);
    assert.equal((await send(admin, 'tocsin_resend', { event: '1' })).status, 302);
    assert.notDeepEqual(await currentState(), untouched, 'the valid nonce is accepted');
  });

  onSite('redirects anonymous visitors to the login page and runs no action for them', async () => {
    const untouched = await currentState();
    for (const path of screens) assert.match((await site.get(path)).headers.get('location') ?? '', /wp-login\.php/);
    for (const [action, fields] of Object.entries(actions)) {
      const response = await fetch(`${site.url}/wp-admin/admin-post.php`, {
        method: 'POST',
        body: new URLSearchParams({ action, ...fields }),
        redirect: 'manual',
      });
      assert.equal(response.headers.get('location'), null, action);
    }
    assert.deepEqual(await currentState(), untouched);
  });

  onSite('a filter can grant another role access to the screens', async (t) => {
    site.write('mu-plugins/capability.php', `<?php add_filter( 'tocsin_capability', fn() => 'edit_others_posts' );`);
    t.after(() => site.write('mu-plugins/capability.php', '<?php'));
    const visitor = await site.login({ name: 'a-editor', password: 'password' });
    for (const path of screens) assert.equal((await visitor.get(path)).status, 200, path);
    assert.equal((await send(visitor, 'tocsin_resend', { event: '1' })).status, 302);
  });

  onSite('escapes script in every field', async () => {
    const admin = await site.login();
    await site.php(`update_option( 'blogname', $input ); return true;`, hostile);
    await send(admin, 'tocsin_save_connection', { url: `https://example.com/${hostile}`, key: hostile });
    const field = await fieldOf(admin);
    await send(admin, 'tocsin_save_templates', {
      [`${field}[on]`]: '1',
      [`${field}[title]`]: `${hostile} {site_name}`,
      [`${field}[body]`]: hostile,
      [`${field}[severity]`]: hostile,
      [`${field}[category]`]: hostile,
      reset: hostile,
      example: hostile,
    });
    await site.php(`do_action( 'sample', $input ); return true;`, hostile);
    await addEvent(hostile);
    for (const path of [...screens, `${screens[2]}&${new URLSearchParams({ s: hostile, state: hostile })}`]) {
      const response = await admin.get(path);
      const html = await response.text();
      assert.equal(response.status, 200, path);
      assert.doesNotMatch(html, /<script>alert|<img src=x|onclick="x/, path);
      const [, content = ''] = html.split('id="tocsin"');
      if (path !== screens[0]) assert.ok(content.includes('&lt;script&gt;alert(1)'), `${path} shows it as text`);
    }
    const templates = await (await admin.get(screens[1] ?? '')).text();
    assert.match(templates, /\d+ more templates are shown when their plugins are active: .*woocommerce \(\d+\)/);
    assert.ok(!templates.includes('>Hidden<'));
  });

  onSite('saving the form keeps the settings of hidden templates', async () => {
    const admin = await site.login();
    await site.php(
      `return Tocsin_Companion::get_instance()->template_settings()->save( 'hidden', true, array( 'title' => 'Mine' ) );`,
    );
    const field = await fieldOf(admin);
    const fields = { title: 'Another', body: '', severity: '', category: 'info' };
    await send(admin, 'tocsin_save_templates', prefixed(field, fields));
    const kept = await site.php<unknown>(
      `$settings = Tocsin_Companion::get_instance()->template_settings();
      return array( $settings->is_enabled( 'hidden' ), $settings->texts( 'hidden' )['title'], $settings->is_enabled( 'sample' ), $settings->texts( 'sample' )['title'] );`,
    );
    assert.deepEqual(kept, [true, 'Mine', false, 'Another']);
  });

  onSite('shows values from wp-config.php as read-only and does not print the key', async (t) => {
    const fixed = await WordPressSite.create();
    t.after(() => fixed.remove());
    const key = `svc_${'k'.repeat(38)}`;
    fixed.define({ TOCSIN_URL: 'http://gateway.example.com/', TOCSIN_KEY: key });
    await fixed.serve();
    const html = await (await (await fixed.login()).get(screens[0] ?? '')).text();
    assert.match(html, /value="http:\/\/gateway\.example\.com\/"[^>]* readonly/);
    assert.match(html, /Set by <code>TOCSIN_KEY<\/code> in <code>wp-config\.php<\/code>/);
    assert.match(html, /The API key and the notifications are sent to gateway\.example\.com unencrypted/);
    assert.ok(!html.includes(key) && !html.includes('Save connection'));
  });

  onSite('reports an invalid address and a key that cannot be decrypted', async (t) => {
    const broken = await WordPressSite.create();
    t.after(() => broken.remove());
    const problems = await broken.php(
      `add_filter( 'salt', fn() => 'previous salt' );
      return Tocsin_Companion::get_instance()->connection()->save( 'https://gateway.example.com', 'svc_${'k'.repeat(38)}', false );`,
    );
    assert.deepEqual(problems, []);
    broken.define({ TOCSIN_URL: 'gateway.example.com' });
    await broken.serve();
    const html = await (await (await broken.login()).get(screens[0] ?? '')).text();
    assert.match(html, /wp-config\.php<\/code>; change it there\. <strong>The gateway address must begin with https/);
    assert.match(html, /notice-error[^>]*><p><strong>The stored API key cannot be decrypted/);
    assert.match(
      await broken.wp('tocsin', 'status'),
      /cannot be decrypted: the secret keys in wp-config\.php have changed/,
    );
    const { stderr } = await broken.tryWp('tocsin', 'check');
    assert.match(stderr, /The gateway address must begin with https/);
  });

  onSite('every site of a network has its own screens and connection', async (t) => {
    const network = await WordPressSite.create({ multisite: true });
    t.after(() => network.remove());
    await network.wp('site', 'create', '--slug=second');
    await network.serve();
    const save = `return Tocsin_Companion::get_instance()->connection()->save_url( $input );`;
    await network.php(save, 'https://first.example.com', '/');
    await network.php(save, 'https://second.example.com', '/second/');
    const admin = await network.login();
    const sites = [
      { path: '', own: 'first', other: 'second' },
      { path: '/second', own: 'second', other: 'first' },
    ];
    for (const { path, own, other } of sites) {
      const html = await (await admin.get(`${path}${screens[0]}`)).text();
      assert.ok(html.includes(`https://${own}.example.com`) && !html.includes(`https://${other}.example.com`), path);
      for (const screen of screens) assert.equal((await admin.get(`${path}${screen}`)).status, 200, path + screen);
    }
  });

  /** Returns the field name prefix of the template "Sample". */
  async function fieldOf(admin: SiteVisitor): Promise<string> {
    const html = await (await admin.get(screens[1] ?? '')).text();
    const [, name] = /<legend[^>]*>Sample<\/legend><input[^>]* name="(templates\[\w+\])\[on\]"/.exec(html) ?? [];
    assert.ok(name, 'the template is on the page');
    return name;
  }

  async function addEvent(title: string): Promise<void> {
    await site.php(
      `$queue = Tocsin_Companion::get_instance()->queue();
      $queue->add( array( 'template_id' => $input, 'title' => $input, 'body' => $input, 'severity' => '', 'category' => 'info', 'payload' => array( $input => array( $input ) ), 'occurred_at' => Tocsin_Queue::now() ) );
      $queue->flush();
      return $GLOBALS['wpdb']->update( Tocsin_Queue::table(), array( 'state' => 'dead' ), array( 'state' => 'waiting' ) );`,
      title,
    );
  }
});

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function prefixed(name: string, fields: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [`${name}[${field}]`, value]));
}

function decoded(cookies: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...cookies].map(([name, value]) => [name, decodeURIComponent(value)]));
}
