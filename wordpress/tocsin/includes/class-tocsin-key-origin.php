<?php
/**
 * Binding of an API key to an origin.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Binds an API key to the origin (scheme, host and port) that it was entered for. The binding is authenticated with the key itself: an
 * attacker who can change options but does not know the key cannot bind it to another origin.
 */
final class Tocsin_Key_Origin {
	/** Option with the binding of a key from wp-config.php whose address is stored in the database. */
	const OPTION = 'tocsin_key_origin';

	/**
	 * Binds a key to the origin of an address.
	 *
	 * @param string $key The API key.
	 * @param string $url The address.
	 * @return array Binding to store, with origin and proof.
	 */
	public static function bind( string $key, string $url ): array {
		$origin = Tocsin_Gateway_Url::origin( $url );
		return array(
			'origin' => $origin,
			'proof'  => self::proof( $key, $origin ),
		);
	}

	/**
	 * Returns the origin that a key is bound to.
	 *
	 * @param mixed  $binding Stored return value of bind().
	 * @param string $key     The API key.
	 * @return string Empty if the binding is missing, was tampered with, or belongs to another key.
	 */
	public static function verified_origin( $binding, string $key ): string {
		$origin = is_array( $binding ) && is_string( $binding['origin'] ?? null ) ? $binding['origin'] : '';
		$proof  = is_array( $binding ) && is_string( $binding['proof'] ?? null ) ? $binding['proof'] : '';
		return '' !== $key && hash_equals( self::proof( $key, $origin ), $proof ) ? $origin : '';
	}

	/**
	 * Returns the HMAC of an origin. The prefix separates it from request signatures, whose input begins with digits.
	 *
	 * @param string $key    The API key.
	 * @param string $origin The origin.
	 */
	private static function proof( string $key, string $origin ): string {
		return hash_hmac( 'sha256', 'origin of a Tocsin API key: ' . $origin, $key );
	}
}
