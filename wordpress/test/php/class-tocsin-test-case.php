<?php
/**
 * What every test of the companion's parts starts from: hooks as they were, and a database that forgets what a test did.
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
	 * What `_doing_it_wrong` was called with while `$code` ran; nothing of it reaches the log.
	 *
	 * @return string[]
	 */
	protected function wrongs_of( callable $code ): array {
		$texts = array();
		$note  = static function ( $function_name, $message ) use ( &$texts ) {
			$texts[] = $message;
		};
		add_action( 'doing_it_wrong_run', $note, 10, 2 );
		add_filter( 'doing_it_wrong_trigger_error', '__return_false' );
		$code();
		remove_action( 'doing_it_wrong_run', $note, 10 );
		remove_filter( 'doing_it_wrong_trigger_error', '__return_false' );
		return $texts;
	}
}
