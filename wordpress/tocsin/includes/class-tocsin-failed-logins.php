<?php
/**
 * Failed logins.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Counts failed logins and decides when to send a notification: above a threshold, and at most once an hour.
 */
final class Tocsin_Failed_Logins {
	const STATE           = 'tocsin_failed_logins';
	const THRESHOLD       = 10;
	const WINDOW          = 10 * MINUTE_IN_SECONDS;
	const NOTIFY_INTERVAL = HOUR_IN_SECONDS;

	/**
	 * Counts a failed login.
	 *
	 * @return int Number of failed logins in the current window of ten minutes.
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
	 * Returns the submitted user name if the user exists; otherwise empty, because it may be a mistyped password.
	 *
	 * @param mixed $login The submitted user name.
	 */
	public static function existing_user( $login ): string {
		return is_string( $login ) && ( username_exists( $login ) || email_exists( $login ) ) ? $login : '';
	}

	/**
	 * Whether to send a notification, at most once an hour.
	 *
	 * @param mixed $count Return value of increment().
	 */
	public static function should_notify( $count ): bool {
		/**
		 * Filters the number of failed logins within ten minutes that triggers a notification.
		 *
		 * @param int $threshold Default: 10.
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
	 * Returns the stored state with all fields.
	 *
	 * @return int[] With since, count and rung_at (time of the last notification).
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
