<?php
/**
 * Encryption of secrets at rest.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Encrypts the API key with a key derived from the site's salts, so that a copy of the database alone does not reveal it.
 */
final class Tocsin_Cipher {
	/** Prefix of stored ciphertexts, with the version of the format. */
	const PREFIX = 'sealed1:';

	/**
	 * Encrypts a text.
	 *
	 * @param string $plain The plaintext.
	 */
	public static function encrypt( string $plain ): string {
		self::load_sodium();
		$nonce = random_bytes( SODIUM_CRYPTO_SECRETBOX_NONCEBYTES );
		// phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_encode -- Binary data in a text column.
		return self::PREFIX . base64_encode( $nonce . sodium_crypto_secretbox( $plain, $nonce, self::key() ) );
	}

	/**
	 * Decrypts the return value of encrypt().
	 *
	 * @param string $encrypted The ciphertext.
	 * @return string Empty if it cannot be decrypted with the current salts.
	 */
	public static function decrypt( string $encrypted ): string {
		if ( 0 !== strpos( $encrypted, self::PREFIX ) ) {
			return '';
		}
		self::load_sodium();
		// phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_decode -- Binary data in a text column.
		$bytes = base64_decode( substr( $encrypted, strlen( self::PREFIX ) ), true );
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
	 * Loads the polyfill of sodium that WordPress ships for a PHP without the extension.
	 */
	private static function load_sodium(): void {
		if ( ! function_exists( 'sodium_crypto_secretbox' ) ) {
			require_once ABSPATH . WPINC . '/sodium_compat/autoload.php';
		}
	}

	/**
	 * Derives the encryption key from the salts, which are not in the database.
	 */
	private static function key(): string {
		return hash( 'sha256', 'tocsin api key' . wp_salt( 'auth' ) . wp_salt( 'secure_auth' ), true );
	}
}
