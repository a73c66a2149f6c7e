<?php
/**
 * Base class of the tests: restores hooks and rolls back the database after each test.
 */

use PHPUnit\Framework\TestCase;

abstract class Tocsin_Test_Case extends TestCase {

	/** @var array<string, WP_Hook> */
	private $hooks;

	protected function setUp(): void {
		global $wp_filter, $wpdb;
		$this->hooks = array_map(
			static function ( $hook ) {
				return clone $hook;
			},
			$wp_filter
		);
		wp_cache_flush();
		$wpdb->query( 'START TRANSACTION' );
	}

	protected function tearDown(): void {
		global $wp_filter, $wpdb;
		$wpdb->query( 'ROLLBACK' );
		wp_cache_flush();
		$wp_filter = $this->hooks;
	}

	/**
	 * Returns the messages of `_doing_it_wrong` while `$code` runs. They are not logged.
	 *
	 * @return string[]
	 */
	protected function notices_of( callable $code ): array {
		$messages = array();
		$record   = static function ( $function_name, $message ) use ( &$messages ) {
			$messages[] = $message;
		};
		add_action( 'doing_it_wrong_run', $record, 10, 2 );
		add_filter( 'doing_it_wrong_trigger_error', '__return_false' );
		$code();
		remove_action( 'doing_it_wrong_run', $record, 10 );
		remove_filter( 'doing_it_wrong_trigger_error', '__return_false' );
		return $messages;
	}
}
