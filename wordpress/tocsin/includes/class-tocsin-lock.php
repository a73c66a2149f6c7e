<?php
/**
 * One runner at a time.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * A lock with a lease, as a row of the options table. The database decides, past every cache: add_option() would overwrite a row that
 * another process has just made.
 */
class Tocsin_Lock {

	const OPTION = 'tocsin_runner_lock';

	/**
	 * What this process has written, or ''.
	 *
	 * @var string
	 */
	private $mine = '';

	/**
	 * Takes the lock, also from a holder whose lease is over.
	 *
	 * @param int $lease_ms How long, in milliseconds.
	 */
	public function take( int $lease_ms ): bool {
		global $wpdb;
		$value = ( Tocsin_Queue::now() + $lease_ms ) . ' ' . bin2hex( random_bytes( 8 ) );
		$taken = $wpdb->query( $wpdb->prepare( "INSERT IGNORE INTO $wpdb->options (option_name, option_value, autoload) VALUES (%s, %s, 'no')", self::OPTION, $value ) ); // phpcs:ignore WordPress.DB
		if ( ! $taken ) {
			$held = self::read();
			if ( null === $held || (int) $held > Tocsin_Queue::now() ) {
				return false;
			}
			$taken = $wpdb->query( $wpdb->prepare( "UPDATE $wpdb->options SET option_value = %s WHERE option_name = %s AND option_value = %s", $value, self::OPTION, $held ) ); // phpcs:ignore WordPress.DB
		}
		$this->mine = $taken ? $value : '';
		return (bool) $taken;
	}

	/**
	 * Gives the lock back, unless another process has it by now.
	 */
	public function give_back(): void {
		global $wpdb;
		$wpdb->query( $wpdb->prepare( "DELETE FROM $wpdb->options WHERE option_name = %s AND option_value = %s", self::OPTION, $this->mine ) ); // phpcs:ignore WordPress.DB
		$this->mine = '';
	}

	/**
	 * Whether a process holds the lock.
	 */
	public static function is_held(): bool {
		return (int) self::read() > Tocsin_Queue::now();
	}

	/**
	 * Until when, and whose; or null.
	 *
	 * @return string|null
	 */
	private static function read() {
		global $wpdb;
		return $wpdb->get_var( $wpdb->prepare( "SELECT option_value FROM $wpdb->options WHERE option_name = %s", self::OPTION ) ); // phpcs:ignore WordPress.DB
	}
}
