<?php
/**
 * Failed logins.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Counts failed logins, and says when they are worth a ring: not each one, and not every ten minutes of a long night.
 */
final class Tocsin_Failed_Logins {
	const STATE     = 'tocsin_failed_logins';
	const THRESHOLD = 10;
	const WINDOW    = 10 * MINUTE_IN_SECONDS;
	const NOTIFY_INTERVAL   = HOUR_IN_SECONDS;

	/**
	 * Counts one more.
	 *
	 * @return int How many there were in this window of ten minutes.
	 */
	public static function increment(): int {
		$state = self::state();
		if ( $state['since'] <= time() - self::WINDOW ) {
			$state['since'] = time();
			$state['count'] = 0;
		}
		++$state['count'];
		set_transient( self::STATE, $state, self::NOTIFY_INTERVAL );
		return $state['count'];
	}

	/**
	 * The name that somebody tried, if there is such a user. What else stands in that field may be a password.
	 *
	 * @param mixed $login What was entered.
	 */
	public static function existing_user( $login ): string {
		return is_string( $login ) && ( username_exists( $login ) || email_exists( $login ) ) ? $login : '';
	}

	/**
	 * Whether to ring for that many. After a ring there is silence for an hour.
	 *
	 * @param mixed $count What count() gave.
	 */
	public static function should_notify( $count ): bool {
		/**
		 * How many failed logins within ten minutes are worth a ring.
		 *
		 * @param int $threshold 10 unless changed.
		 */
		$threshold = (int) apply_filters( 'tocsin_failed_login_threshold', self::THRESHOLD );
		$state     = self::state();
		if ( $count < $threshold || $state['rung_at'] > time() - self::NOTIFY_INTERVAL ) {
			return false;
		}
		$state['rung_at'] = time();
		set_transient( self::STATE, $state, self::NOTIFY_INTERVAL );
		return true;
	}

	/**
	 * What is known, complete.
	 *
	 * @return int[] With since, count and rung_at.
	 */
	private static function state(): array {
		$state = get_transient( self::STATE );
		return ( is_array( $state ) ? array_map( 'intval', $state ) : array() ) + array(
			'since'   => 0,
			'count'   => 0,
			'rung_at' => 0,
		);
	}
}
