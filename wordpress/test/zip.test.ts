// The zip built by `npm run build:wordpress`: contents, installation and removal.
import assert from 'node:assert/strict';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { pluginFiles, pluginZip } from '../build/plugin-zip.ts';
import { pluginFolder, wordpressObstacle } from './support/wordpress-files.ts';
import { WordPressSite } from './support/wordpress-site.ts';

test('the zip contains exactly the files of the plugin and is reproducible', () => {
  const files = globSync('**/*', { cwd: pluginFolder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join('tocsin', entry.parentPath.slice(pluginFolder.length), entry.name));
  assert.deepEqual([...pluginFiles().keys()].sort(), files.sort());
  assert.deepEqual(pluginZip(), pluginZip());
});

/** Lists all data of the plugin in the database and in cron, on every site of a network. */
const traces = `
  global $wpdb;
  $found = array();
  foreach ( is_multisite() ? get_sites( array( 'fields' => 'ids' ) ) : array( 1 ) as $id ) {
    if ( is_multisite() ) { switch_to_blog( $id ); }
    $found = array_merge( $found, $wpdb->get_col( "SELECT option_name FROM $wpdb->options WHERE option_name LIKE '%tocsin%'" ) );
    $found = array_merge( $found, array_filter( array_map( 'strval', array_keys( array_merge( ...array_values( array_filter( _get_cron_array(), 'is_array' ) ) ) ) ), function ( $hook ) { return false !== strpos( $hook, 'tocsin' ); } ) );
    if ( is_multisite() ) { restore_current_blog(); }
  }
  $found = array_merge( $found, $wpdb->get_col( "SELECT meta_key FROM $wpdb->usermeta WHERE meta_key LIKE '%tocsin%'" ) );
  if ( is_multisite() ) { $found = array_merge( $found, $wpdb->get_col( "SELECT meta_key FROM $wpdb->sitemeta WHERE meta_key LIKE '%tocsin%'" ) ); }
  return array_merge( $found, array_values( array_filter( $wpdb->get_col( 'SHOW TABLES' ), function ( $table ) { return false !== strpos( $table, 'tocsin' ); } ) ) );`;

for (const multisite of [false, true]) {
  const where = multisite ? 'a network' : 'a site';
  test(`the zip can be installed, used and removed without leftovers on ${where}`, async (t) => {
    if (!canRun(t, wordpressObstacle())) return;
    const site = await WordPressSite.create({ withoutCompanion: true, multisite });
    t.after(() => site.remove());
    if (multisite) await site.wp('site', 'create', '--slug=two');
    const file = join(site.folder, 'tocsin.zip');
    writeFileSync(file, pluginZip());
    await site.wp('plugin', 'install', file, multisite ? '--activate-network' : '--activate');
    const paths = multisite ? ['/', '/two/'] : ['/'];
    for (const path of paths) {
      await site.php(
        `tocsin_register_template( array( 'title' => 'T', 'hook_name' => 'fired', 'enabled' => true ) );
        Tocsin_Companion::get_instance()->connection()->save_key( 'svc_a-key-of-a-test' );
        do_action( 'fired' );
        return true;`,
        null,
        path,
      );
      const counts = await site.php<Record<string, number>>(
        'return Tocsin_Companion::get_instance()->queue()->counts();',
        null,
        path,
      );
      assert.equal(counts.waiting, 1, `${path} ${JSON.stringify(counts)}`);
    }
    assert.ok((await site.php<string[]>(traces)).length >= 2);
    await site.wp('plugin', 'deactivate', 'tocsin', ...(multisite ? ['--network'] : []));
    await site.wp('plugin', 'uninstall', 'tocsin');
    assert.deepEqual(await site.php(traces), []);
    assert.deepEqual(globSync('wp-content/**/*tocsin*', { cwd: site.folder }), []);
  });
}
