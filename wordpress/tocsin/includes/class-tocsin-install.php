<?php
/**
 * Installation, upgrade and removal of the plugin's data.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Creates and removes the table, options and schedules, on one site or on every site of a network.
 */
class Tocsin_Install {

	const VERSION_OPTION = 'tocsin_db_version';

	/** Version of the stored data. Version 2 binds keys to the origin of their address. */
	const VERSION = '2';

	/**
	 * Registers the hooks and upgrades the current site's data. Called on `plugins_loaded`.
	 */
	public static function register(): void {
		add_action( 'wp_initialize_site', array( __CLASS__, 'add_site' ), 900 );
		add_filter( 'wpmu_drop_tables', array( __CLASS__, 'drop_with_site' ), 10, 2 );
		self::upgrade();
	}

	/**
	 * Installs on the site, or on every site of the network. Sites of a large network are installed by their first request.
	 *
	 * @param mixed $network_wide Whether the plugin is activated for the whole network.
	 */
	public static function activate( $network_wide ): void {
		if ( $network_wide && is_multisite() && ! wp_is_large_network() ) {
			self::on_every_site( array( __CLASS__, 'upgrade' ) );
			return;
		}
		self::upgrade();
	}

	/**
	 * Removes schedules and locks. Queue, log and settings are kept for the next activation.
	 *
	 * @param mixed $network_wide Whether the plugin is deactivated for the whole network.
	 */
	public static function deactivate( $network_wide ): void {
		$stop = static function () {
			Tocsin_Schedule::unschedule_all();
			self::remove_option( Tocsin_Lock::OPTION );
			self::remove_option( Tocsin_Loopback::LAST_TOKEN );
			update_option( Tocsin_Loopback::BLOCKED_UNTIL, '0', true );
		};
		if ( $network_wide && is_multisite() ) {
			self::on_every_site( $stop );
			return;
		}
		$stop();
	}

	/**
	 * Upgrades the current site's data if its version differs.
	 */
	public static function upgrade(): void {
		$before = get_option( self::VERSION_OPTION );
		if ( self::VERSION !== $before ) {
			self::create_table();
			if ( '1' === $before ) {
				Tocsin_Companion::get_instance()->connection()->bind_legacy_keys();
			}
			// An existing option prevents that a later upgrade binds another key from wp-config.php.
			add_option( Tocsin_Key_Origin::OPTION, array(), '', false );
			// Autoloaded: WordPress would query the database for a missing option on every page.
			add_option( Tocsin_Downtime::OPTION, '', '', true );
			add_option( Tocsin_Loopback::BLOCKED_UNTIL, '0', '', true );
			update_option( self::VERSION_OPTION, self::VERSION, true );
		}
	}

	/**
	 * Creates the current site's table or adds missing columns and indexes. dbDelta requires exactly this layout.
	 */
	public static function create_table(): void {
		global $wpdb;
		require_once ABSPATH . 'wp-admin/includes/upgrade.php';
		$table   = $wpdb->prefix . 'tocsin_events';
		$charset = $wpdb->get_charset_collate();
		dbDelta(
			"CREATE TABLE $table (
id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
idempotency_key char(36) NOT NULL,
template_id varchar(191) NOT NULL DEFAULT '',
title varchar(191) NOT NULL DEFAULT '',
body text NOT NULL,
severity varchar(20) NOT NULL DEFAULT '',
category varchar(20) NOT NULL DEFAULT 'info',
payload longtext NOT NULL,
state varchar(10) NOT NULL DEFAULT 'waiting',
attempts int(11) NOT NULL DEFAULT 0,
next_at bigint(20) NOT NULL DEFAULT 0,
lease_until bigint(20) NOT NULL DEFAULT 0,
claim_token char(36) NOT NULL DEFAULT '',
created_at bigint(20) NOT NULL DEFAULT 0,
give_up_at bigint(20) NOT NULL DEFAULT 0,
ended_at bigint(20) DEFAULT NULL,
status int(11) DEFAULT NULL,
last_error text,
notification_id varchar(64) DEFAULT NULL,
PRIMARY KEY  (id),
UNIQUE KEY idempotency_key (idempotency_key),
KEY due (state,next_at),
KEY log (state,created_at),
KEY created_at (created_at)
) $charset;"
		);
	}

	/**
	 * Installs on a new site of a network on which the plugin is active.
	 *
	 * @param WP_Site $site The new site.
	 */
	public static function add_site( $site ): void {
		require_once ABSPATH . 'wp-admin/includes/plugin.php';
		if ( is_plugin_active_for_network( plugin_basename( TOCSIN_FILE ) ) ) {
			switch_to_blog( (int) $site->blog_id );
			self::upgrade();
			restore_current_blog();
		}
	}

	/**
	 * Adds the table to those that WordPress drops with a site.
	 *
	 * @param mixed $tables  Tables to drop.
	 * @param mixed $site_id Id of the deleted site.
	 */
	public static function drop_with_site( $tables, $site_id ) {
		global $wpdb;
		$tables   = (array) $tables;
		$tables[] = $wpdb->get_blog_prefix( (int) $site_id ) . 'tocsin_events';
		return $tables;
	}

	/**
	 * Removes all data on every site. Called by uninstall.php.
	 */
	public static function uninstall(): void {
		global $wpdb;
		self::on_every_site( array( __CLASS__, 'remove_from_site' ) );
		if ( is_multisite() ) {
			foreach ( array( 'tocsin_', '_site_transient_tocsin_', '_site_transient_timeout_tocsin_' ) as $prefix ) {
				$names = $wpdb->get_results( $wpdb->prepare( "SELECT site_id, meta_key FROM $wpdb->sitemeta WHERE meta_key LIKE %s", $wpdb->esc_like( $prefix ) . '%' ) ); // phpcs:ignore WordPress.DB
				foreach ( $names as $row ) {
					delete_network_option( (int) $row->site_id, $row->meta_key );
				}
			}
		}
		// User settings: global ones, those per site of a network, and hidden columns of the log.
		$patterns = array( $wpdb->esc_like( 'tocsin_' ) . '%', $wpdb->esc_like( $wpdb->base_prefix ) . '%' . $wpdb->esc_like( 'tocsin_' ) . '%', 'manage%' . $wpdb->esc_like( '_page_tocsin' ) . '%columnshidden' );
		foreach ( $patterns as $pattern ) {
			foreach ( $wpdb->get_col( $wpdb->prepare( "SELECT DISTINCT meta_key FROM $wpdb->usermeta WHERE meta_key LIKE %s", $pattern ) ) as $key ) { // phpcs:ignore WordPress.DB
				delete_metadata( 'user', 0, $key, '', true );
			}
		}
	}

	/**
	 * Removes all data of the current site.
	 */
	public static function remove_from_site(): void {
		global $wpdb;
		foreach ( (array) _get_cron_array() as $hooks ) {
			foreach ( array_keys( (array) $hooks ) as $hook ) {
				if ( 0 === strpos( (string) $hook, 'tocsin_' ) ) {
					wp_unschedule_hook( $hook );
				}
			}
		}
		self::remove_actions();
		foreach ( array( 'tocsin_', '_transient_tocsin_', '_transient_timeout_tocsin_', '_site_transient_tocsin_', '_site_transient_timeout_tocsin_' ) as $prefix ) {
			foreach ( $wpdb->get_col( $wpdb->prepare( "SELECT option_name FROM $wpdb->options WHERE option_name LIKE %s", $wpdb->esc_like( $prefix ) . '%' ) ) as $name ) { // phpcs:ignore WordPress.DB
				self::remove_option( $name );
			}
		}
		$table = $wpdb->prefix . 'tocsin_events';
		$wpdb->query( "DROP TABLE IF EXISTS $table" ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Deletes the plugin's actions of Action Scheduler with their logs. Its API would only mark them as cancelled.
	 */
	private static function remove_actions(): void {
		global $wpdb;
		$actions = $wpdb->prefix . 'actionscheduler_actions';
		if ( $actions !== $wpdb->get_var( $wpdb->prepare( 'SHOW TABLES LIKE %s', $wpdb->esc_like( $actions ) ) ) ) { // phpcs:ignore WordPress.DB
			return;
		}
		$ours = $wpdb->esc_like( 'tocsin_' ) . '%';
		$wpdb->query( $wpdb->prepare( "DELETE FROM {$wpdb->prefix}actionscheduler_logs WHERE action_id IN (SELECT action_id FROM $actions WHERE hook LIKE %s)", $ours ) ); // phpcs:ignore WordPress.DB
		$wpdb->query( $wpdb->prepare( "DELETE FROM $actions WHERE hook LIKE %s", $ours ) ); // phpcs:ignore WordPress.DB
		$wpdb->query( "DELETE FROM {$wpdb->prefix}actionscheduler_groups WHERE slug = 'tocsin'" ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Deletes an option that may have been written without WordPress's cache, such as the lock.
	 *
	 * @param string $name Name of the option.
	 */
	private static function remove_option( string $name ): void {
		global $wpdb;
		delete_option( $name );
		$wpdb->delete( $wpdb->options, array( 'option_name' => $name ) ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Runs a callback on the site, or on every site of the network.
	 *
	 * @param callable $work The callback.
	 */
	private static function on_every_site( callable $work ): void {
		if ( ! is_multisite() ) {
			$work();
			return;
		}
		$sites = get_sites(
			array(
				'fields' => 'ids',
				'number' => 0,
			)
		);
		foreach ( $sites as $site ) {
			switch_to_blog( (int) $site );
			$work();
			restore_current_blog();
		}
	}
}
