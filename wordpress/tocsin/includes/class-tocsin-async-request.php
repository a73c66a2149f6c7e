<?php
/**
 * A request whose answer nobody waits for.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Posts to the site itself and goes on at once. WordPress's own requests wait for the answer for up to a second, and cost a page
 * several milliseconds even if they are cut short.
 */
final class Tocsin_Async_Request {
	const CONNECT_SECONDS = 0.25;

	/**
	 * Sends a form.
	 *
	 * @param string $url     Where to.
	 * @param array  $headers Headers by name, beyond those that every form has.
	 * @param array  $fields  The form's fields.
	 * @return bool Whether it is on its way.
	 */
	public static function send( string $url, array $headers, array $fields ): bool {
		$parts = wp_parse_url( $url );
		if ( empty( $parts['host'] ) ) {
			return false;
		}
		$is_secure = 'https' === ( $parts['scheme'] ?? '' );
		$address   = ( $is_secure ? 'tls://' : 'tcp://' ) . $parts['host'] . ':' . ( $parts['port'] ?? ( $is_secure ? 443 : 80 ) );
		$socket    = self::connect( $address );
		if ( false !== $socket && ftell( $socket ) > 0 ) {
			// The last one of this process, which was never read.
			fclose( $socket ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- No file.
			$socket = self::connect( $address );
		}
		$request = self::build_request( $parts, $headers, http_build_query( $fields ) );
		return false !== $socket && strlen( $request ) === @fwrite( $socket, $request ); // phpcs:ignore WordPress.WP.AlternativeFunctions, Generic.PHP.NoSilencedErrors -- No file; and see connect().
	}

	/**
	 * A connection that stays open beyond this request, for as long as the process lives: a reverse proxy drops what it has not yet handed
	 * on when it sees that the caller has left.
	 *
	 * @param string $address Transport, host and port.
	 * @return resource|false
	 */
	private static function connect( string $address ) {
		$verify  = (bool) apply_filters( 'https_local_ssl_verify', false ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress's own.
		$context = stream_context_create(
			array(
				'ssl' => array(
					'verify_peer'      => $verify,
					'verify_peer_name' => $verify,
				),
			)
		);
		return @stream_socket_client( $address, $code, $problem, self::CONNECT_SECONDS, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT, $context ); // phpcs:ignore Generic.PHP.NoSilencedErrors -- A site that cannot reach itself is no news for its visitors.
	}

	/**
	 * The request as it goes over the wire.
	 *
	 * @param array  $parts   Of the address.
	 * @param array  $headers Headers by name.
	 * @param string $body    The form.
	 */
	private static function build_request( array $parts, array $headers, string $body ): string {
		$headers = array(
			'Host'           => $parts['host'] . ( isset( $parts['port'] ) ? ':' . $parts['port'] : '' ),
			'Content-Type'   => 'application/x-www-form-urlencoded',
			'Content-Length' => (string) strlen( $body ),
			'User-Agent'     => 'Tocsin/' . TOCSIN_VERSION,
			'Connection'     => 'close',
		) + $headers;
		$lines   = array( 'POST ' . ( $parts['path'] ?? '/' ) . ( isset( $parts['query'] ) ? '?' . $parts['query'] : '' ) . ' HTTP/1.1' );
		foreach ( $headers as $name => $value ) {
			$lines[] = $name . ': ' . str_replace( array( "\r", "\n" ), '', $value );
		}
		return implode( "\r\n", $lines ) . "\r\n\r\n" . $body;
	}
}
