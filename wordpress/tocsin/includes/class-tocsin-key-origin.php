<?php
/**
 * Which server an API key may be sent to.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Binds an API key to the origin (scheme, host and port) that it was entered for. The key itself proves the binding: whoever can change
 * options, but does not know the key, cannot bind it to another origin.
 */
final class Tocsin_Key_Origin {
	/** The binding of a key from wp-config.php whose address is not from there. */
	const OPTION = 'tocsin_key_origin';

	/**
	 * Binds a key to the origin of an address.
	 *
	 * @param string $key The API key.
	 * @param string $url The address.
	 * @return array With origin and proof, to be stored.
	 */
	public static function bind( string $key, string $url ): array {
		$origin = Tocsin_Gateway_Url::origin( $url );
		return array(
			'origin' => $origin,
			'proof'  => self::proof( $key, $origin ),
		);
	}

	/**
	 * The origin that a key is bound to.
	 *
	 * @param mixed  $binding What bind() made, as it was stored.
	 * @param string $key     The API key.
	 * @return string Empty when the binding is missing, changed, or that of another key.
	 */
	public static function verified_origin( $binding, string $key ): string {
		$origin = is_array( $binding ) && is_string( $binding['origin'] ?? null ) ? $binding['origin'] : '';
		$proof  = is_array( $binding ) && is_string( $binding['proof'] ?? null ) ? $binding['proof'] : '';
		return '' !== $key && hash_equals( self::proof( $key, $origin ), $proof ) ? $origin : '';
	}

	/**
	 * What only the holder of the key can compute. A signed request begins with digits, so no signature can be mistaken for it.
	 *
	 * @param string $key    The API key.
	 * @param string $origin The origin.
	 */
	private static function proof( string $key, string $origin ): string {
		return hash_hmac( 'sha256', 'origin of a Tocsin API key: ' . $origin, $key );
	}
}
