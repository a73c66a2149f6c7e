<?php
/**
 * Downtime of the gateway.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Keeps the state of a downtime in one autoloaded option. During a downtime a run makes a single attempt on behalf of all events.
 */
class Tocsin_Downtime {

	const OPTION = 'tocsin_outage';

	/** A new event may probe the gateway after this time, however long the backoff of the others. */
	const PROBE_INTERVAL_MS = 60000;

	/**
	 * Returns the downtime (failures, since, probed_at, until), or null.
	 *
	 * @return array|null
	 */
	public static function current() {
		$downtime = get_option( self::OPTION );
		return is_array( $downtime ) && isset( $downtime['failures'], $downtime['since'], $downtime['probed_at'], $downtime['until'] ) ? $downtime : null;
	}

	/**
	 * Records a failed attempt, which starts or extends the downtime.
	 *
	 * @param int $retry_after Value of Retry-After in seconds; 0 without one.
	 * @return int Time of the next attempt, in milliseconds since the Unix epoch.
	 */
	public static function record_failure( int $retry_after ): int {
		$now      = Tocsin_Queue::now();
		$downtime = self::current();
		$failures = null === $downtime ? 1 : $downtime['failures'] + 1;
		$until    = $now + Tocsin_Backoff::delay( $failures, $retry_after );
		update_option(
			self::OPTION,
			array(
				'failures'  => $failures,
				'since'     => null === $downtime ? $now : $downtime['since'],
				'probed_at' => $retry_after > 0 ? $until : $now,
				'until'     => $until,
			),
			true
		);
		return $until;
	}

	/**
	 * Ends the downtime. The option is emptied, not deleted: WordPress would query the database for a missing option in every request.
	 */
	public static function end(): void {
		update_option( self::OPTION, '', true );
		if ( null !== self::current() ) {
			// A persistent object cache is stale: the database already had the new value, so WordPress did not update the cache.
			wp_cache_delete( 'alloptions', 'options' );
			wp_cache_delete( self::OPTION, 'options' );
		}
	}

	/**
	 * Returns when a new event is due. A downtime that starts in the future is ignored, because the clock must have been wrong.
	 *
	 * @param int $now Milliseconds since the Unix epoch.
	 */
	public static function next_attempt_for_new_event( int $now ): int {
		$downtime = self::current();
		return null === $downtime || $downtime['since'] > $now ? $now : max( $now, min( $downtime['until'], $downtime['probed_at'] + self::PROBE_INTERVAL_MS ) );
	}
}
