<?php
/**
 * The address of a gateway.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Which addresses may be entered, and how they are kept.
 */
final class Tocsin_Gateway_Url {
	/**
	 * Whether whoever is logged in may let the server call this address: on a network of sites their administrators are not the server's.
	 *
	 * @param string $url A clean address.
	 */
	public static function is_allowed( string $url ): bool {
		if ( ! is_multisite() || ! is_user_logged_in() || current_user_can( 'manage_network_options' ) ) {
			return true;
		}
		// Older versions of WordPress let link-local addresses pass, behind which clouds keep their secrets.
		$address = gethostbyname( trim( (string) wp_parse_url( $url, PHP_URL_HOST ), '[]' ) );
		return false !== wp_http_validate_url( $url ) && false !== filter_var( $address, FILTER_VALIDATE_IP, FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE );
	}

	/**
	 * Scheme, host and port of an address, in lower case and without the default port. Stricter than wp_parse_url(), so that no address
	 * has one host here and another one for the library that calls it.
	 *
	 * @param string $url An address.
	 * @return string Empty when it has none.
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
	 * What an address must be, for people.
	 */
	public static function requirement(): string {
		return __( 'The gateway address must begin with https:// or http:// and contain no user name, password or query string.', 'tocsin' );
	}

	/**
	 * The address as it is called, or nothing when it is none.
	 *
	 * @param string $url What was entered.
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
		// The contract's only resource is the address and a slash; in a folder a web server would answer with a redirect, which loses what is posted.
		$url = isset( $parts['path'] ) ? trailingslashit( $url ) : $url;
		$url = sanitize_url( $url, array( 'http', 'https' ) );
		return '' === self::origin( $url ) ? '' : $url;
	}
}
