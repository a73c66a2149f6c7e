<?php
/**
 * How long to wait.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * The time before the next try.
 */
class Tocsin_Backoff {

	const SECONDS = array( 10, 30, 120, 600, 1800, 3600, 10800 );

	/**
	 * Milliseconds to wait after so many failures in a row; up to a fifth more, so that many sites do not come back in the same second.
	 *
	 * @param int $failures    One or more.
	 * @param int $retry_after Seconds the gateway asked for, which knows better; 0 where it did not.
	 */
	public static function delay( int $failures, int $retry_after = 0 ): int {
		$seconds = self::SECONDS[ min( max( 1, $failures ), count( self::SECONDS ) ) - 1 ];
		if ( $retry_after > 0 ) {
			$seconds = $retry_after;
		}
		return $seconds * 1000 + random_int( 0, $seconds * 200 );
	}
}
