<?php
/**
 * Labels for delivery status and times.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Converts response fields and times to readable text.
 */
final class Tocsin_Admin_Labels {

	/**
	 * Describes the delivery status of an accepted notification, one line per channel.
	 *
	 * @param array<string, mixed> $response Decoded response body.
	 * @return string[]
	 */
	public static function delivery_status( array $response ): array {
		$lines = array(
			/* translators: %s: delivery status, such as "sent to 2 devices". */
			sprintf( __( 'Push: %s', 'tocsin' ), self::push( $response ) ),
			/* translators: %s: delivery status, such as "sent". */
			sprintf( __( 'Email: %s', 'tocsin' ), self::email( $response ) ),
			/* translators: %s: delivery status, such as "published to 2 devices". */
			sprintf( __( 'MQTT: %s', 'tocsin' ), self::mqtt( $response ) ),
		);
		if ( false === ( $response['stored'] ?? true ) ) {
			$lines[] = __( 'The gateway could not store the notification. See the log of the gateway.', 'tocsin' );
		}
		return $lines;
	}

	/**
	 * Describes the status of push.
	 *
	 * @param array<string, mixed> $response Decoded response body.
	 */
	private static function push( array $response ): string {
		if ( false === ( $response['pushEnabled'] ?? true ) ) {
			return __( 'disabled', 'tocsin' );
		}
		$count = (int) ( $response['pushAttempted'] ?? 0 );
		if ( true === ( $response['pushSent'] ?? false ) ) {
			/* translators: %d: number of devices. */
			return sprintf( _n( 'sent to %d device', 'sent to %d devices', $count, 'tocsin' ), $count );
		}
		return 0 === $count
			? __( 'no device subscribed', 'tocsin' )
			: __( 'failed; see the notification in the inbox', 'tocsin' );
	}

	/**
	 * Describes the status of email.
	 *
	 * @param array<string, mixed> $response Decoded response body.
	 */
	private static function email( array $response ): string {
		if ( false === ( $response['emailEnabled'] ?? false ) ) {
			return __( 'disabled', 'tocsin' );
		}
		return true === ( $response['emailSent'] ?? false )
			? __( 'sent', 'tocsin' )
			: __( 'not sent; see the notification in the inbox', 'tocsin' );
	}

	/**
	 * Describes the status of MQTT.
	 *
	 * @param array<string, mixed> $response Decoded response body.
	 */
	private static function mqtt( array $response ): string {
		if ( false === ( $response['mqttEnabled'] ?? true ) ) {
			return __( 'disabled', 'tocsin' );
		}
		if ( true === ( $response['mqttSkipped'] ?? false ) ) {
			return __( 'no active device', 'tocsin' );
		}
		$sent   = (int) ( $response['mqttPublishedCount'] ?? 0 );
		$failed = (int) ( $response['mqttFailedCount'] ?? 0 );
		/* translators: %d: number of devices. */
		$status = sprintf( _n( 'published to %d device', 'published to %d devices', $sent, 'tocsin' ), $sent );
		if ( $failed > 0 ) {
			/* translators: %d: number of devices. */
			$status .= ', ' . sprintf( _n( 'failed for %d', 'failed for %d', $failed, 'tocsin' ), $failed );
		}
		return $status;
	}

	/**
	 * Formats a time relative to now.
	 *
	 * @param int $seconds Unix time.
	 */
	public static function relative_time( int $seconds ): string {
		$now = time();
		if ( abs( $seconds - $now ) < 2 ) {
			return __( 'now', 'tocsin' );
		}
		return $seconds > $now
			/* translators: %s: duration, such as "2 minutes". */
			? sprintf( __( 'in %s', 'tocsin' ), human_time_diff( $now, $seconds ) )
			/* translators: %s: duration, such as "2 minutes". */
			: sprintf( __( '%s ago', 'tocsin' ), human_time_diff( $seconds, $now ) );
	}

	/**
	 * Formats date and time according to the settings of the site.
	 *
	 * @param int $seconds Unix time.
	 */
	public static function date_time( int $seconds ): string {
		return (string) wp_date( get_option( 'date_format' ) . ' ' . get_option( 'time_format' ), $seconds );
	}
}
