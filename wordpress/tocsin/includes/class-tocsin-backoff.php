<?php
/**
 * Backoff.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Calculates the delay before the next attempt.
 */
class Tocsin_Backoff {

	const SECONDS = array( 10, 30, 120, 600, 1800, 3600, 10800 );

	/**
	 * Returns the delay in milliseconds, with up to 20 % of random jitter, so that many sites do not retry in the same second.
	 *
	 * @param int $failures    Number of consecutive failures, at least one.
	 * @param int $retry_after Value of Retry-After in seconds, which takes precedence; 0 without one.
	 */
	public static function delay( int $failures, int $retry_after = 0 ): int {
		$seconds = self::SECONDS[ min( max( 1, $failures ), count( self::SECONDS ) ) - 1 ];
		if ( $retry_after > 0 ) {
			$seconds = $retry_after;
		}
		return $seconds * 1000 + random_int( 0, $seconds * 200 );
	}
}
