<?php
/**
 * Lock of the queue runner.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * A lock with a lease, stored as an option: end of the lease and a random token, or empty while it is free. It is changed by atomic
 * statements that bypass the cache, because add_option() would overwrite a row that another process has just inserted. Times have
 * thirteen digits, so that they compare correctly as strings. A lock that lasts longer than any lease is ignored, because the clock must
 * have been wrong.
 */
class Tocsin_Lock {

	const OPTION = 'tocsin_runner_lock';

	/**
	 * Value of the option while this process holds the lock; otherwise empty.
	 *
	 * @var string
	 */
	private $value = '';

	/**
	 * Acquires the lock, also from a holder whose lease has expired.
	 *
	 * @param int $lease_ms Duration of the lease in milliseconds.
	 * @return bool Whether the lock was acquired.
	 */
	public function acquire( int $lease_ms ): bool {
		global $wpdb;
		$now      = Tocsin_Queue::now();
		$value    = ( $now + $lease_ms ) . ' ' . bin2hex( random_bytes( 8 ) );
		$acquired = $wpdb->query( $wpdb->prepare( "UPDATE $wpdb->options SET option_value = %s WHERE option_name = %s AND (option_value < %s OR option_value > %s)", $value, self::OPTION, (string) $now, (string) self::latest( $now ) ) ); // phpcs:ignore WordPress.DB
		if ( ! $acquired ) {
			// Autoloaded, so that pages can check it without a query.
			$acquired = $wpdb->query( $wpdb->prepare( "INSERT IGNORE INTO $wpdb->options (option_name, option_value, autoload) VALUES (%s, %s, 'yes')", self::OPTION, $value ) ); // phpcs:ignore WordPress.DB
		}
		$this->value = $acquired ? $value : '';
		return (bool) $acquired;
	}

	/**
	 * Releases the lock, unless another process has acquired it in the meantime.
	 */
	public function release(): void {
		global $wpdb;
		$wpdb->query( $wpdb->prepare( "UPDATE $wpdb->options SET option_value = '' WHERE option_name = %s AND option_value = %s", self::OPTION, $this->value ) ); // phpcs:ignore WordPress.DB
		$this->value = '';
	}

	/**
	 * Whether a process holds the lock.
	 *
	 * The autoloaded value may be outdated. If it says free, that is sufficient: at worst a run is started in vain. If it says held, the
	 * database is queried, or an event would wait for a run that has already ended.
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
	 * Returns the latest plausible end of a lease, allowing for the clock skew of another server.
	 *
	 * @param int $now Milliseconds since the Unix epoch.
	 */
	private static function latest( int $now ): int {
		return $now + 2 * Tocsin_Queue::LEASE_MS;
	}
}
