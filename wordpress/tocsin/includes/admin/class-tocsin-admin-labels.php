<?php
/**
 * Answers of the gateway and moments, in words.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * From fields of the contract to sentences.
 */
final class Tocsin_Admin_Labels {

	/**
	 * What became of an accepted notification on each channel.
	 *
	 * @param array<string, mixed> $answer The decoded answer of the gateway.
	 * @return string[]
	 */
	public static function delivery_status( array $answer ): array {
		$lines = array(
			/* translators: %s: delivery status, such as "sent to 2 devices". */
			sprintf( __( 'Push: %s', 'tocsin' ), self::push( $answer ) ),
			/* translators: %s: delivery status, such as "sent". */
			sprintf( __( 'Email: %s', 'tocsin' ), self::email( $answer ) ),
			/* translators: %s: delivery status, such as "published to 2 devices". */
			sprintf( __( 'MQTT: %s', 'tocsin' ), self::mqtt( $answer ) ),
		);
		if ( false === ( $answer['stored'] ?? true ) ) {
			$lines[] = __( 'The gateway could not store the notification. See the log of the gateway.', 'tocsin' );
		}
		return $lines;
	}

	/**
	 * Push.
	 *
	 * @param array<string, mixed> $answer The answer.
	 */
	private static function push( array $answer ): string {
		if ( false === ( $answer['pushEnabled'] ?? true ) ) {
			return __( 'disabled', 'tocsin' );
		}
		$count = (int) ( $answer['pushAttempted'] ?? 0 );
		if ( true === ( $answer['pushSent'] ?? false ) ) {
			/* translators: %d: number of devices. */
			return sprintf( _n( 'sent to %d device', 'sent to %d devices', $count, 'tocsin' ), $count );
		}
		return 0 === $count
			? __( 'no device subscribed', 'tocsin' )
			: __( 'failed; see the notification in the inbox', 'tocsin' );
	}

	/**
	 * E-mail.
	 *
	 * @param array<string, mixed> $answer The answer.
	 */
	private static function email( array $answer ): string {
		if ( false === ( $answer['emailEnabled'] ?? false ) ) {
			return __( 'disabled', 'tocsin' );
		}
		return true === ( $answer['emailSent'] ?? false )
			? __( 'sent', 'tocsin' )
			: __( 'not sent; see the notification in the inbox', 'tocsin' );
	}

	/**
	 * MQTT.
	 *
	 * @param array<string, mixed> $answer The answer.
	 */
	private static function mqtt( array $answer ): string {
		if ( false === ( $answer['mqttEnabled'] ?? true ) ) {
			return __( 'disabled', 'tocsin' );
		}
		if ( true === ( $answer['mqttSkipped'] ?? false ) ) {
			return __( 'no active device', 'tocsin' );
		}
		$sent   = (int) ( $answer['mqttPublishedCount'] ?? 0 );
		$failed = (int) ( $answer['mqttFailedCount'] ?? 0 );
		/* translators: %d: number of devices. */
		$words = sprintf( _n( 'published to %d device', 'published to %d devices', $sent, 'tocsin' ), $sent );
		if ( $failed > 0 ) {
			/* translators: %d: number of devices. */
			$words .= ', ' . sprintf( _n( 'failed for %d', 'failed for %d', $failed, 'tocsin' ), $failed );
		}
		return $words;
	}

	/**
	 * How long until a moment, or since it.
	 *
	 * @param int $seconds Unix time.
	 */
	public static function relative_time( int $seconds ): string {
		$now = time();
		if ( abs( $seconds - $now ) < 2 ) {
			return __( 'now', 'tocsin' );
		}
		return $seconds > $now
			/* translators: %s: span of time, such as "2 minutes". */
			? sprintf( __( 'in %s', 'tocsin' ), human_time_diff( $now, $seconds ) )
			/* translators: %s: span of time, such as "2 minutes". */
			: sprintf( __( '%s ago', 'tocsin' ), human_time_diff( $seconds, $now ) );
	}

	/**
	 * Date and time as the site shows them.
	 *
	 * @param int $seconds Unix time.
	 */
	public static function date_time( int $seconds ): string {
		return (string) wp_date( get_option( 'date_format' ) . ' ' . get_option( 'time_format' ), $seconds );
	}
}
