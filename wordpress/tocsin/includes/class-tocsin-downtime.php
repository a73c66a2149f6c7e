<?php
/**
 * The gateway cannot be reached.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * What is known of an outage, in one option that WordPress loads anyway. While there is one, a single try stands for all events.
 */
class Tocsin_Downtime {

	const OPTION = 'tocsin_outage';

	/** A new event may ask again this soon, however long the others wait: whoever fires it hopes that the gateway is back. */
	const PROBE_INTERVAL_MS = 60000;

	/**
	 * The outage (failures, since, probed_at, until), or null.
	 *
	 * @return array|null
	 */
	public static function current() {
		$outage = get_option( self::OPTION );
		return is_array( $outage ) && isset( $outage['failures'], $outage['since'], $outage['probed_at'], $outage['until'] ) ? $outage : null;
	}

	/**
	 * One more try failed.
	 *
	 * @param int $retry_after Seconds the gateway asked for; 0 where it did not.
	 * @return int When to try again, in milliseconds.
	 */
	public static function record_failure( int $retry_after ): int {
		$now      = Tocsin_Queue::now();
		$outage   = self::current();
		$failures = null === $outage ? 1 : $outage['failures'] + 1;
		$until    = $now + Tocsin_Backoff::delay( $failures, $retry_after );
		update_option(
			self::OPTION,
			array(
				'failures'  => $failures,
				'since'     => null === $outage ? $now : $outage['since'],
				'probed_at' => $retry_after > 0 ? $until : $now,
				'until'     => $until,
			),
			true
		);
		return $until;
	}

	/**
	 * The gateway answers again. The option stays, empty: WordPress would look for one that is missing in every request that asks.
	 */
	public static function end(): void {
		update_option( self::OPTION, '', true );
		if ( null !== self::current() ) {
			// A cache that outlives the request is older than the database, which had nothing to change. WordPress leaves it at that.
			wp_cache_delete( 'alloptions', 'options' );
			wp_cache_delete( self::OPTION, 'options' );
		}
	}

	/**
	 * When an event that occurs now may be sent. An outage that has yet to begin is from a clock that was wrong.
	 *
	 * @param int $now Milliseconds.
	 */
	public static function next_attempt_for_new_event( int $now ): int {
		$outage = self::current();
		return null === $outage || $outage['since'] > $now ? $now : max( $now, min( $outage['until'], $outage['probed_at'] + self::PROBE_INTERVAL_MS ) );
	}
}
