<?php
/**
 * A secret at rest.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Seals the API key with the site's salts, so that a copy of the database alone does not give it away.
 */
final class Tocsin_Cipher {
	const PREFIX = 'sealed1:';

	/**
	 * Seals a text.
	 *
	 * @param string $plain The text.
	 */
	public static function encrypt( string $plain ): string {
		self::load_sodium();
		$nonce = random_bytes( SODIUM_CRYPTO_SECRETBOX_NONCEBYTES );
		// phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_encode -- Bytes in a text column.
		return self::PREFIX . base64_encode( $nonce . sodium_crypto_secretbox( $plain, $nonce, self::key() ) );
	}

	/**
	 * Opens what seal() made.
	 *
	 * @param string $sealed The sealed text.
	 * @return string Empty when it is none, or was sealed under other salts.
	 */
	public static function decrypt( string $sealed ): string {
		if ( 0 !== strpos( $sealed, self::PREFIX ) ) {
			return '';
		}
		self::load_sodium();
		// phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_decode -- Bytes in a text column.
		$bytes = base64_decode( substr( $sealed, strlen( self::PREFIX ) ), true );
		if ( false === $bytes || strlen( $bytes ) <= SODIUM_CRYPTO_SECRETBOX_NONCEBYTES ) {
			return '';
		}
		$plain = sodium_crypto_secretbox_open(
			substr( $bytes, SODIUM_CRYPTO_SECRETBOX_NONCEBYTES ),
			substr( $bytes, 0, SODIUM_CRYPTO_SECRETBOX_NONCEBYTES ),
			self::key()
		);
		return false === $plain ? '' : $plain;
	}

	/**
	 * WordPress brings sodium for a PHP that has none, but loads it only where it needs it.
	 */
	private static function load_sodium(): void {
		if ( ! function_exists( 'sodium_crypto_secretbox' ) ) {
			require_once ABSPATH . WPINC . '/sodium_compat/autoload.php';
		}
	}

	/**
	 * The key, from salts that are not in the database.
	 */
	private static function key(): string {
		return hash( 'sha256', 'tocsin api key' . wp_salt( 'auth' ) . wp_salt( 'secure_auth' ), true );
	}
}
