// Installation, upgrade and removal, on a single site and on a network.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { pluginFolder, wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

const obstacle = wordpressObstacle();

/** Lists all stored data: tables, option names, scheduled hooks, user meta keys, rows of Action Scheduler. */
const inventory = `global $wpdb;
wp_cache_flush();
$sites = is_multisite() ? get_sites( array( 'fields' => 'ids' ) ) : array( 1 );
$kept = array( 'tables' => $wpdb->get_col( 'SHOW TABLES' ), 'usermeta' => $wpdb->get_col( "SELECT DISTINCT meta_key FROM $wpdb->usermeta ORDER BY meta_key" ) );
if ( is_multisite() ) {
  $kept['network'] = $wpdb->get_col( "SELECT meta_key FROM $wpdb->sitemeta WHERE meta_key NOT LIKE '%transient%' OR meta_key LIKE '%tocsin%' ORDER BY meta_key" );
}
foreach ( $sites as $site ) {
  is_multisite() && switch_to_blog( $site );
  $kept["options $site"] = $wpdb->get_col( "SELECT option_name FROM $wpdb->options WHERE ( option_name NOT LIKE '%transient%' AND option_name NOT IN ( 'cron', 'recently_activated', 'uninstall_plugins' ) ) OR option_name LIKE '%tocsin%' ORDER BY option_name" );
  $hooks = array();
  foreach ( (array) _get_cron_array() as $events ) {
    $hooks = array_merge( $hooks, array_filter( array_keys( (array) $events ), static fn( $hook ) => false !== strpos( $hook, 'tocsin' ) ) );
  }
  $kept["hooks $site"] = $hooks;
  is_multisite() && restore_current_blog();
}
foreach ( array( 'actions', 'logs', 'groups' ) as $table ) {
  $kept[ $table ] = $wpdb->get_var( "SELECT COUNT(*) FROM {$wpdb->prefix}actionscheduler_$table" );
}
sort( $kept['tables'] );
return $kept;`;

/** Creates simplified tables of Action Scheduler with an action of another plugin. */
const actionScheduler = `global $wpdb;
$wpdb->query( "CREATE TABLE {$wpdb->prefix}actionscheduler_actions (action_id bigint(20) NOT NULL, hook varchar(191) NOT NULL, group_id bigint(20) NOT NULL, PRIMARY KEY (action_id))" );
$wpdb->query( "CREATE TABLE {$wpdb->prefix}actionscheduler_logs (log_id bigint(20) NOT NULL, action_id bigint(20) NOT NULL, PRIMARY KEY (log_id))" );
$wpdb->query( "CREATE TABLE {$wpdb->prefix}actionscheduler_groups (group_id bigint(20) NOT NULL, slug varchar(255) NOT NULL, PRIMARY KEY (group_id))" );
$wpdb->query( "INSERT INTO {$wpdb->prefix}actionscheduler_actions VALUES (1, 'another', 1)" );
$wpdb->query( "INSERT INTO {$wpdb->prefix}actionscheduler_logs VALUES (1, 1)" );
return $wpdb->query( "INSERT INTO {$wpdb->prefix}actionscheduler_groups VALUES (1, 'another')" );`;

/** Creates all kinds of data that the plugin stores. */
const use = `global $wpdb;
$companion = Tocsin_Companion::get_instance();
foreach ( is_multisite() ? get_sites( array( 'fields' => 'ids' ) ) : array( 1 ) as $site ) {
  is_multisite() && switch_to_blog( $site );
  $companion->connection()->save_url( 'http://127.0.0.1:9/' );
  $companion->connection()->save_key( 'svc_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef' );
  $companion->queue()->add( array( 'template_id' => 'test', 'title' => 'Title', 'payload' => array() ) );
  $companion->queue()->flush();
  $companion->runner()->run();
  ( new Tocsin_Lock() )->acquire( 60000 );
  set_transient( 'tocsin_notice', 'x', 99 );
  update_user_option( 1, 'tocsin_seen', 'x' );
  is_multisite() && restore_current_blog();
}
set_site_transient( 'tocsin_notice', 'x', 99 );
update_site_option( 'tocsin_network', 'x' );
update_user_meta( 1, 'tocsin_per_page', 5 );
update_user_meta( 1, 'managetocsin_page_tocsin-logcolumnshidden', array( 'body' ) );
$wpdb->query( "INSERT INTO {$wpdb->prefix}actionscheduler_actions VALUES (2, 'tocsin_run_due', 2)" );
$wpdb->query( "INSERT INTO {$wpdb->prefix}actionscheduler_logs VALUES (2, 2)" );
$wpdb->query( "INSERT INTO {$wpdb->prefix}actionscheduler_groups VALUES (2, 'tocsin')" );
return $companion->queue()->counts()['waiting'];`;

const activate = `require_once ABSPATH . 'wp-admin/includes/plugin.php';
$result = activate_plugin( 'tocsin/tocsin.php', '', is_multisite() );
return is_wp_error( $result ) ? $result->get_error_message() : 'active';`;

const deactivate = `require_once ABSPATH . 'wp-admin/includes/plugin.php';
deactivate_plugins( 'tocsin/tocsin.php', false, is_multisite() );
return true;`;

const uninstall = `require_once ABSPATH . 'wp-admin/includes/plugin.php';
return uninstall_plugin( 'tocsin/tocsin.php' );`;

const addSite = `return wpmu_create_blog( wp_parse_url( home_url(), PHP_URL_HOST ) . ':' . wp_parse_url( home_url(), PHP_URL_PORT ), $input, 'Another', 1 );`;

type Inventory = Record<string, string[]>;

for (const multisite of [false, true]) {
  test(`deleting the plugin removes all data ${multisite ? 'on every site of a network' : 'on a site'}`, async (t) => {
    if (!canRun(t, obstacle)) return;
    const site = await WordPressSite.create({ multisite, withoutCompanion: true });
    t.after(() => site.remove());
    await site.php(actionScheduler);
    if (multisite) assert.equal(typeof (await site.php(addSite, '/second/')), 'number');
    const untouched = await site.php<Inventory>(inventory);
    cpSync(pluginFolder, join(site.folder, 'wp-content', 'plugins', 'tocsin'), { recursive: true });
    assert.equal(await site.php(activate), 'active');
    assert.equal(await site.php(use), 1);

    const used = await site.php<Inventory>(inventory);
    for (const part of Object.keys(untouched)) assert.notDeepEqual(used[part], untouched[part], part);
    await site.php(deactivate);
    const deactivated = await site.php<Inventory>(inventory);
    assert.deepEqual(deactivated['hooks 1'], []);
    assert.ok(!deactivated['options 1']?.includes('tocsin_runner_lock'));
    assert.ok(deactivated['options 1']?.includes('tocsin_key'), 'settings are kept until the plugin is deleted');
    await site.php(uninstall);
    assert.deepEqual(await site.php(inventory), untouched);
  });
}

test('a new site of a network has its own queue, which is deleted with the site', async (t) => {
  if (!canRun(t, obstacle)) return;
  const site = await WordPressSite.create({ multisite: true });
  t.after(() => site.remove());
  const second = await site.php<number>(addSite, '/second/');
  const tables = () => site.php<string[]>(`global $wpdb; return $wpdb->get_col( "SHOW TABLES LIKE '%tocsin%'" );`);
  assert.deepEqual((await tables()).toSorted(), [`wp_${second}_tocsin_events`, 'wp_tocsin_events']);

  const add = `$queue = Tocsin_Companion::get_instance()->queue();
    $queue->add( array( 'title' => 'Here' ) );
    switch_to_blog( $input );
    $queue->add( array( 'title' => 'There' ) );
    restore_current_blog();
    $queue->flush();
    $titles = array( array_column( $queue->list(), 'title' ) );
    switch_to_blog( $input );
    $titles[] = array_column( $queue->list(), 'title' );
    restore_current_blog();
    return $titles;`;
  assert.deepEqual(await site.php(add, second), [['Here'], ['There']]);
  const scheduled = `return array( (bool) wp_next_scheduled( 'tocsin_run_due' ), (bool) wp_next_scheduled( 'tocsin_run' ) );`;
  assert.deepEqual(
    await site.php(scheduled, null, '/second/'),
    [true, true],
    'its own schedule sends events queued by another site',
  );

  // The administrator of a single site must not use addresses behind the firewall.
  const addresses = ['http://10.0.0.1/', 'http://169.254.169.254/', 'http://localhost:6379/', 'https://1.1.1.1/'];
  const saveAsItsAdministrator = `$id = wp_insert_user( array( 'user_login' => 'tenant', 'user_pass' => 'password', 'user_email' => 'tenant@example.com', 'role' => 'administrator' ) );
    wp_set_current_user( $id );
    return array_map( array( Tocsin_Companion::get_instance()->connection(), 'save_url' ), $input );`;
  const errors = await site.php<string[]>(saveAsItsAdministrator, addresses, '/second/');
  assert.deepEqual(
    errors.map((error) => error.includes('only a network administrator')),
    [true, true, true, false],
    errors.join('\n'),
  );
  const enterKeyAsItsAdministrator = `$connection = Tocsin_Companion::get_instance()->connection();
    $connection->save_url( $input );
    wp_set_current_user( get_user_by( 'login', 'tenant' )->ID );
    return array( $connection->save( $input, 'svc_a-key-of-a-test', false ), $connection->problem() );`;
  assert.deepEqual(
    await site.php(enterKeyAsItsAdministrator, addresses[0], '/second/'),
    [[], ''],
    'a key can be entered for an address entered by the network administrator',
  );

  await site.php(
    `require_once ABSPATH . 'wp-admin/includes/ms.php'; wpmu_delete_blog( $input, true ); return true;`,
    second,
  );
  assert.deepEqual(await tables(), ['wp_tocsin_events']);
});

test('the next request upgrades data of another version', async (t) => {
  if (!canRun(t, obstacle)) return;
  const site = await WordPressSite.create();
  t.after(() => site.remove());
  await site.php(
    `global $wpdb; $wpdb->query( "DROP TABLE {$wpdb->prefix}tocsin_events" ); return update_option( 'tocsin_db_version', '0' );`,
  );
  const count = await site.php('return Tocsin_Companion::get_instance()->queue()->counts()["waiting"];');
  assert.equal(count, 0);
  assert.equal(await site.php(`return get_option( 'tocsin_db_version' );`), '2');
});
