<?php
/**
 * Address of the gateway.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Validates and normalizes gateway addresses.
 */
final class Tocsin_Gateway_Url {
	/**
	 * Whether the current user may have the server send requests to an address. On a multisite network, administrators of single sites are
	 * not trusted with addresses inside the server's network.
	 *
	 * @param string $url A normalized address.
	 */
	public static function is_allowed( string $url ): bool {
		if ( ! is_multisite() || ! is_user_logged_in() || current_user_can( 'manage_network_options' ) ) {
			return true;
		}
		// Older versions of WordPress allow link-local addresses, which cloud providers use for their metadata services.
		$address = gethostbyname( trim( (string) wp_parse_url( $url, PHP_URL_HOST ), '[]' ) );
		return false !== wp_http_validate_url( $url ) && false !== filter_var( $address, FILTER_VALIDATE_IP, FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE );
	}

	/**
	 * Returns the origin (scheme, host and port) of an address, in lower case and without the default port. Stricter than wp_parse_url(), so
	 * that the HTTP library cannot parse a different host from the same address.
	 *
	 * @param string $url An address.
	 * @return string Empty if the address is invalid.
	 */
	public static function origin( string $url ): string {
		if ( ! preg_match( '~^(https?)://([a-z0-9._\x80-\xff-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?(?:/|$)~Di', $url, $parts ) ) {
			return '';
		}
		$scheme = strtolower( $parts[1] );
		$port   = $parts[3] ?? '';
		return $scheme . '://' . strtolower( $parts[2] ) . ( '' === $port || ( 'https' === $scheme ? '443' : '80' ) === $port ? '' : ':' . $port );
	}

	/**
	 * Returns the requirements of an address as a message for the user.
	 */
	public static function requirement(): string {
		return __( 'The gateway address must begin with https:// or http:// and contain no user name, password or query string.', 'tocsin' );
	}

	/**
	 * Normalizes an address; empty if it is invalid.
	 *
	 * @param string $url The address as entered.
	 */
	public static function normalize( string $url ): string {
		$url   = trim( $url );
		$parts = wp_parse_url( $url );
		if ( ! is_array( $parts ) || empty( $parts['host'] ) || isset( $parts['user'] ) || isset( $parts['pass'] ) || isset( $parts['query'] ) ) {
			return '';
		}
		if ( ! in_array( strtolower( $parts['scheme'] ?? '' ), array( 'http', 'https' ), true ) ) {
			return '';
		}
		$url = (string) strtok( $url, '#' );
		// The API is at the address with a trailing slash; without it, a web server would redirect, and the POST body would be lost.
		$url = isset( $parts['path'] ) ? trailingslashit( $url ) : $url;
		$url = sanitize_url( $url, array( 'http', 'https' ) );
		return '' === self::origin( $url ) ? '' : $url;
	}
}
