// The public API of the companion for plugin authors, with a real WordPress and a real gateway.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, suite, test } from 'node:test';
import type { NotificationContent } from '@tocsin/contract';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { ConnectedSite } from './support/connected-site.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

const obstacle = wordpressObstacle();

const shop = readFileSync(new URL('./support/php/shop.php', import.meta.url), 'utf8');

suite('Companion and gateway', () => {
  let connected: ConnectedSite;
  before(async () => {
    if (obstacle === null) connected = await ConnectedSite.create({ plugins: { 'shop/shop.php': shop } });
  });
  after(() => connected?.remove());

  async function receivedWith(title: string): Promise<NotificationContent[]> {
    return (await connected.received()).map(({ content }) => content).filter((content) => content.title === title);
  }

  test('a template registered in the action sends its texts and the arguments by name', async (t) => {
    if (!canRun(t, obstacle)) return;
    const registered = await connected.fire(
      `do_action( 'shop_new_order', 'N-17', 12.5 ); return $GLOBALS['shop_registered'];`,
    );
    assert.deepEqual(registered, { action: true, function: true });
    const inbox = await connected.installation.json<NotificationContent[]>('inbox', 'list');
    const [order, ...more] = inbox.filter(({ title }) => title === 'Order N-17 on A test site');
    assert.deepEqual(more, []);
    assert.equal(order?.body, 'Worth 12.5');
    assert.equal(order?.severity, 'warning');
    assert.equal(order?.category, 'task');
    assert.equal(order?.source, '127.0.0.1');
    const { order: number, total, scenario, hook, site } = order?.data ?? {};
    assert.deepEqual(
      { number, total, scenario, hook, site },
      { number: 'N-17', total: 12.5, scenario: 'shop', hook: 'shop_new_order', site: connected.site.url },
    );
  });

  test('a template can be registered without the action', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.fire(`do_action( 'shop_low_stock', 'Tea' ); return true;`);
    assert.equal((await receivedWith('Low: Tea')).length, 1);
  });

  test('a hook may pass more or fewer arguments than the template declares', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.fire(
      `do_action( 'shop_new_order', 'MORE', 1, 'a third' ); do_action( 'shop_new_order', 'FEWER' ); return true;`,
    );
    const [more] = await receivedWith('Order MORE on A test site');
    assert.ok(!JSON.stringify(more?.data).includes('a third'));
    const [fewer] = await receivedWith('Order FEWER on A test site');
    assert.equal(fewer?.data.order, 'FEWER');
    assert.ok(!('total' in (fewer?.data ?? {})));
  });

  test('the value of a filter is passed through unchanged', async (t) => {
    if (!canRun(t, obstacle)) return;
    const same = await connected.fire(`
      $object = new stdClass();
      $same   = array();
      foreach ( array( 19.9, '19', 0, null, false, array( 'a' => array( 1 ) ), $object, '' ) as $value ) {
        $same[] = apply_filters( 'shop_price', $value, 'cart' ) === $value;
      }
      $same[] = apply_filters( 'shop_price', 'no context' ) === 'no context';
      return $same;`);
    assert.deepEqual(same, Array(9).fill(true));
    const [price] = await receivedWith('Price 19.9 in cart');
    assert.equal(price?.data.value, 19.9);
    assert.equal(price?.data.context, 'cart');
  });

  test('a template is hidden until its required plugin is active or added by the filter', async (t) => {
    if (!canRun(t, obstacle)) return;
    const isVisible = `in_array( 'shop_elsewhere', array_map( function ( $template ) { return $template->hook_name(); }, array_values( Tocsin_Companion::get_instance()->templates()->visible() ) ), true )`;
    const fire = `do_action( 'shop_elsewhere' ); return ${isVisible};`;
    assert.equal(await connected.fire(fire), false);
    assert.equal((await receivedWith('Needs another')).length, 0);
    connected.site.write(
      'mu-plugins/another.php',
      `<?php add_filter( 'tocsin_active_plugin_identifiers', function ( $slugs ) { $GLOBALS['slugs'] = $slugs; $slugs[] = 'another-plugin'; return $slugs; } );`,
    );
    assert.equal(await connected.fire(fire), true);
    assert.equal((await receivedWith('Needs another')).length, 1);
    assert.deepEqual(
      await connected.site.php(
        `return array( in_array( 'shop', $GLOBALS['slugs'], true ), in_array( 'tocsin', $GLOBALS['slugs'], true ) );`,
      ),
      [true, true],
    );
  });

  test('a monitoring check succeeds and is stored by the gateway', async (t) => {
    if (!canRun(t, obstacle)) return;
    const before = (await connected.received()).length;
    const result = await connected.site.php(
      `return array( Tocsin_Companion::get_instance()->send_monitoring_check(), Tocsin_Companion::get_instance() === Tocsin_Companion::get_instance() );`,
    );
    assert.deepEqual(result, [true, true]);
    const all = await connected.received();
    assert.equal(all.length, before + 1);
    assert.match(all.at(-1)?.content.title ?? '', /A test site/);
  });

  test('the monitoring check fails with a reason if the key is wrong or missing, or the gateway is unreachable', async (t) => {
    if (!canRun(t, obstacle)) return;
    const site = await WordPressSite.create();
    t.after(() => site.remove());
    const check = `
      update_option( 'tocsin_url', $input['url'] );
      if ( '' !== $input['key'] ) { Tocsin_Companion::get_instance()->connection()->save_key( $input['key'] ); }
      return array( Tocsin_Companion::get_instance()->send_monitoring_check(), Tocsin_Companion::get_instance()->last_error() );`;
    const withoutKey = await site.php<[boolean, string]>(check, { url: connected.url, key: '' });
    const wrongKey = await site.php<[boolean, string]>(check, { url: connected.url, key: 'svc_wrong' });
    const unreachable = await site.php<[boolean, string]>(check, { url: 'http://127.0.0.1:1', key: connected.key });
    for (const [isAccepted, reason] of [withoutKey, wrongKey, unreachable]) {
      assert.equal(isAccepted, false);
      assert.ok(reason.length > 10 && !reason.includes('svc_'), reason);
    }
    assert.match(wrongKey[1], /key/i);
  });

  test('rejects invalid templates with a message for the developer', async (t) => {
    if (!canRun(t, obstacle)) return;
    const hook = { title: 'T', hook_name: 'h' };
    const invalid: [unknown, RegExp][] = [
      ['no array', /array/],
      [{}, /hook_name/],
      [{ hook_name: 'h' }, /title/],
      [{ title: ['x'], hook_name: 'h' }, /title/],
      [{ ...hook, hook_meta: 'x' }, /hook_meta/],
      [{ ...hook, hook_meta: { type: 'event' } }, /type.*action.*filter/],
      [{ ...hook, hook_meta: { arg_names: 'order' } }, /arg_names/],
      [{ ...hook, hook_meta: { arg_names: [1] } }, /arg_names/],
      [{ ...hook, hook_meta: { payload_arity: -1 } }, /payload_arity/],
      [{ ...hook, hook_meta: { payload_arity: 'two' } }, /payload_arity/],
      [{ ...hook, severity: 'awful' }, /severity/],
      [{ ...hook, category: 'news' }, /category/],
      [{ ...hook, condition: 'no_such_function' }, /condition/],
    ];
    const results = await connected.site.php(
      `return array_map( 'tocsin_register_template', $input );`,
      invalid.map(([template]) => template),
    );
    assert.deepEqual(results, Array(invalid.length).fill(false));
    const log = connected.site.takeDebugLog().trimEnd().split('\n');
    assert.equal(log.length, invalid.length, log.join('\n'));
    for (const [index, [template, text]] of invalid.entries()) {
      assert.match(log[index] ?? '', /PHP Notice: .*tocsin_register_template was called/i, JSON.stringify(template));
      assert.match(log[index] ?? '', text);
    }
  });

  test('templates that throw and missing, recursive or malformed arguments do not break a page', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.site.serve();
    t.after(() => connected.stopServing());
    const page = await connected.site.get('/?trouble=1');
    assert.equal(page.status, 200);
    assert.match(await page.text(), /<\/html>\s*$/);
    // The log contains the reason why a template sent nothing.
    const log = connected.site.takeDebugLog();
    assert.doesNotMatch(log, /PHP (Fatal|Warning|Notice|Deprecated)/);
    assert.match(log, /shop_throws.*condition/);
    assert.match(log, /shop_throws.*map/);
    await connected.runQueue();
    const anything = (await connected.received()).filter(({ content }) => content.title.startsWith('Anything'));
    assert.ok(anything.length >= 4, JSON.stringify(anything));
  });

  test('an event of a page view is sent without running the queue explicitly', async (t) => {
    if (!canRun(t, obstacle)) return;
    connected.site.write(
      'mu-plugins/sale.php',
      `<?php add_action( 'wp', function () { if ( isset( $_GET['buy'] ) ) { do_action( 'shop_new_order', $_GET['buy'], 1 ); } } );`,
    );
    await connected.site.serve();
    t.after(() => connected.stopServing());
    assert.equal((await connected.site.get('/?buy=VIEW')).status, 200);
    await eventually(
      'the order of the page view is stored',
      15_000,
      () => receivedWith('Order VIEW on A test site'),
      (found) => found.length > 0,
    );
    assert.equal((await receivedWith('Order VIEW on A test site')).length, 1);
  });

  test('hooks during init are handled, and plugins can attach to the action and to the filter during init', async (t) => {
    if (!canRun(t, obstacle)) return;
    connected.site.write(
      'mu-plugins/early.php',
      `<?php
      $register = fn( $hook, $plugin = '' ) => tocsin_register_template( array( 'title' => "Fired $hook", 'hook_name' => $hook, 'enabled' => true, 'required_plugin' => $plugin ) );
      add_action( 'tocsin_register_templates', fn() => $register( 'test_early' ) );
      add_action( 'init', fn() => add_action( 'tocsin_register_templates', fn() => $register( 'test_late' ) ) );
      add_action( 'tocsin_register_templates', fn() => $register( 'test_required', 'invented' ) );
      add_action( 'init', fn() => add_filter( 'tocsin_active_plugin_identifiers', fn( $slugs ) => array_merge( $slugs, array( 'invented' ) ) ) );
      add_action( 'init', fn() => isset( $_GET['early'] ) && do_action( 'test_early' ), 1 );
      add_action( 'wp', fn() => isset( $_GET['early'] ) && do_action( 'test_required' ) );
      add_action( 'wp', fn() => isset( $_GET['early'] ) && do_action( 'test_late' ) );`,
    );
    await connected.site.serve();
    t.after(() => connected.stopServing());
    assert.equal((await connected.site.get('/?early=1')).status, 200);
    for (const title of ['Fired test_early', 'Fired test_late', 'Fired test_required']) {
      await eventually(
        `${title} arrives`,
        15_000,
        () => receivedWith(title),
        (found) => found.length === 1,
      );
    }
  });

  test('escapes script in every field and argument of a template', async (t) => {
    if (!canRun(t, obstacle)) return;
    const script = '<script>alert(1)</script>"\'><img src=x onerror=alert(2)>';
    connected.site.write(
      'mu-plugins/script.php',
      `<?php add_action( 'tocsin_register_templates', function () {
        $s = ${phpText(script)};
        tocsin_register_template( array( 'id' => 'script', 'icon' => $s, 'title' => $s, 'hook_name' => 'shop_script', 'description' => $s, 'scenario_name' => $s,
          'message_title' => 'Script {thing}', 'message_body' => $s, 'enabled' => true,
          'hook_meta' => array( 'label' => $s, 'type' => 'action', 'arg_names' => array( 'thing', $s ), 'payload_arity' => 2 ) ) );
      } );`,
    );
    await connected.fire(`do_action( 'shop_script', $input, $input ); return true;`, script);
    const [stored] = (await connected.received()).filter(({ content }) => content.title.startsWith('Script'));
    assert.equal(stored?.content.title, `Script ${script}`);
    await connected.site.serve();
    t.after(() => connected.stopServing());
    const admin = await connected.site.login();
    for (const link of menuLinks(await (await admin.get('/wp-admin/')).text())) {
      const page = await admin.get(link);
      assert.equal(page.status, 200, link);
      const html = await page.text();
      assert.match(html, /<\/html>\s*$/, `${link} is incomplete`);
      assert.ok(!html.includes('<script>alert(1)') && !html.includes('<img src=x'), link);
    }
  });

  test('the ten-line example in the documentation works as written', async (t) => {
    if (!canRun(t, obstacle)) return;
    const page = readFileSync(new URL('../../docs/wordpress.md', import.meta.url), 'utf8');
    const [, example = ''] = /```php\n((?:(?!```).)*tocsin_register_template\(.*?)```/s.exec(page) ?? [];
    const lines = example.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('<?php'));
    assert.ok(
      lines.length > 0 && lines.length <= 10,
      `the first template in docs/wordpress.md has ${lines.length} lines`,
    );
    const ids = 'return array_keys( Tocsin_Companion::get_instance()->templates()->all() );';
    const known = await connected.site.php<string[]>(ids);
    connected.site.write('mu-plugins/example.php', example.startsWith('<?php') ? example : `<?php\n${example}`);
    const [id, ...others] = (await connected.site.php<string[]>(ids)).filter((one) => !known.includes(one));
    assert.ok(id !== undefined && others.length === 0);
    const before = (await connected.received()).length;
    await connected.fire(
      `$companion = Tocsin_Companion::get_instance();
      $companion->template_settings()->save( $input, true );
      $template = $companion->templates()->find( $input );
      do_action( $template->hook_name(), ...$template->arg_names() );
      return true;`,
      id,
    );
    assert.equal((await connected.received()).length, before + 1);
  });
});

/** Returns the links to the companion's screens in the admin menu. */
function menuLinks(html: string): string[] {
  const links = new Set(
    [...html.matchAll(/href=['"](admin\.php\?page=tocsin[^'"]*)['"]/g)].map(([, link]) => `/wp-admin/${link}`),
  );
  assert.ok(links.size >= 3, `the menu links to ${links.size} screens of the companion`);
  return [...links];
}

function phpText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
