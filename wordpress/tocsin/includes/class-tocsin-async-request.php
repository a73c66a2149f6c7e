<?php
/**
 * HTTP request without waiting for the response.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Posts to the site itself without reading the response. Non-blocking requests of WordPress wait up to a second for the response, and
 * cost a page several milliseconds even with a short timeout.
 */
final class Tocsin_Async_Request {
	const CONNECT_SECONDS = 0.25;

	/**
	 * Posts a form.
	 *
	 * @param string $url     Target URL.
	 * @param array  $headers Additional headers by name.
	 * @param array  $fields  Form fields.
	 * @return bool Whether the request was written to the socket.
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
			// A persistent connection of an earlier request, whose response was never read.
			fclose( $socket ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- A socket, not a file.
			$socket = self::connect( $address );
		}
		$request = self::build_request( $parts, $headers, http_build_query( $fields ) );
		return false !== $socket && strlen( $request ) === @fwrite( $socket, $request ); // phpcs:ignore WordPress.WP.AlternativeFunctions, Generic.PHP.NoSilencedErrors -- A socket, not a file; for the silenced error see connect().
	}

	/**
	 * Opens a persistent connection, which stays open until the process ends: a reverse proxy cancels a request that it has not forwarded
	 * yet when the client disconnects.
	 *
	 * @param string $address Transport, host and port.
	 * @return resource|false
	 */
	private static function connect( string $address ) {
		$verify  = (bool) apply_filters( 'https_local_ssl_verify', false ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- A filter of WordPress.
		$context = stream_context_create(
			array(
				'ssl' => array(
					'verify_peer'      => $verify,
					'verify_peer_name' => $verify,
				),
			)
		);
		return @stream_socket_client( $address, $code, $problem, self::CONNECT_SECONDS, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT, $context ); // phpcs:ignore Generic.PHP.NoSilencedErrors -- A failed loopback request must not cause a warning on the page.
	}

	/**
	 * Builds the raw HTTP request.
	 *
	 * @param array  $parts   Components of the URL.
	 * @param array  $headers Headers by name.
	 * @param string $body    The encoded form.
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
