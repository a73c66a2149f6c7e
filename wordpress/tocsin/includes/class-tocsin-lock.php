<?php
/**
 * One runner at a time.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * A lock with a lease, as a row of the options table: until when, and whose; empty while nobody has it. The database decides, past
 * every cache: add_option() would overwrite a row that another process has just made. Times have thirteen digits, so that texts compare
 * as they do. One that would last for longer than any lease is from a clock that was wrong, and holds nobody up.
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
	public function acquire( int $lease_ms ): bool {
		global $wpdb;
		$now   = Tocsin_Queue::now();
		$value = ( $now + $lease_ms ) . ' ' . bin2hex( random_bytes( 8 ) );
		$taken = $wpdb->query( $wpdb->prepare( "UPDATE $wpdb->options SET option_value = %s WHERE option_name = %s AND (option_value < %s OR option_value > %s)", $value, self::OPTION, (string) $now, (string) self::latest( $now ) ) ); // phpcs:ignore WordPress.DB
		if ( ! $taken ) {
			// Autoloaded, so that a page knows it without asking.
			$taken = $wpdb->query( $wpdb->prepare( "INSERT IGNORE INTO $wpdb->options (option_name, option_value, autoload) VALUES (%s, %s, 'yes')", self::OPTION, $value ) ); // phpcs:ignore WordPress.DB
		}
		$this->mine = $taken ? $value : '';
		return (bool) $taken;
	}

	/**
	 * Gives the lock back, unless another process has it by now.
	 */
	public function release(): void {
		global $wpdb;
		$wpdb->query( $wpdb->prepare( "UPDATE $wpdb->options SET option_value = '' WHERE option_name = %s AND option_value = %s", self::OPTION, $this->mine ) ); // phpcs:ignore WordPress.DB
		$this->mine = '';
	}

	/**
	 * Whether a process holds the lock.
	 *
	 * What WordPress loaded with the page may be old. That nobody held it then is answer enough: a process is started in vain at worst.
	 * That somebody did has to be asked again, or an event would wait for a run that is over.
	 */
	public static function is_held(): bool {
		global $wpdb;
		$now = Tocsin_Queue::now();
		if ( (int) get_option( self::OPTION, '' ) <= $now ) {
			return false;
		}
		$until = (int) $wpdb->get_var( $wpdb->prepare( "SELECT option_value FROM $wpdb->options WHERE option_name = %s", self::OPTION ) ); // phpcs:ignore WordPress.DB
		return $until > $now && $until <= self::latest( $now );
	}

	/**
	 * Until when a lock of now may last at most, by the clock of another server too.
	 *
	 * @param int $now Milliseconds.
	 */
	private static function latest( int $now ): int {
		return $now + 2 * Tocsin_Queue::LEASE_MS;
	}
}
