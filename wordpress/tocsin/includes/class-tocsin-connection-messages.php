<?php
/**
 * Messages about the connection.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Explains to the user why the API key is not sent to the gateway, and what to do.
 */
final class Tocsin_Connection_Messages {
	/** Example line for wp-config.php. */
	private const URL_LINE = "define( 'TOCSIN_URL', 'https://tocsin.example.com' );";

	/**
	 * Returns the message for a stored key that cannot be decrypted.
	 */
	public static function undecryptable_key(): string {
		return __( 'The stored API key cannot be decrypted because the secret keys in wp-config.php have changed. Enter the API key again.', 'tocsin' );
	}

	/**
	 * Returns the message for a key from wp-config.php without an address from there.
	 */
	public static function url_constant(): string {
		return sprintf(
			/* translators: 1: name of a constant, 2: name of a file, 3: a line of PHP. */
			__( '%1$s is set in %2$s, so the address must be set there as well. Add this line with the address of your gateway: %3$s', 'tocsin' ),
			'TOCSIN_KEY',
			'wp-config.php',
			self::URL_LINE
		);
	}

	/**
	 * Returns the message for a key from wp-config.php that is bound to a stored address.
	 */
	public static function legacy_address(): string {
		return sprintf(
			/* translators: 1: name of a constant, 2: name of a file, 3: a line of PHP. */
			__( '%1$s in %2$s was already used with this address when the plugin was updated, so it remains in use. To use another address, add it to %2$s: %3$s', 'tocsin' ),
			'TOCSIN_KEY',
			'wp-config.php',
			self::URL_LINE
		);
	}

	/**
	 * Returns the message for a stored key that is bound to another origin.
	 *
	 * @param string $origin The origin of the address.
	 */
	public static function other_origin( string $origin ): string {
		/* translators: %s: scheme, host and port of an address. */
		return sprintf( __( 'The stored API key was not entered for %s and is not sent there. Enter the API key again, together with the address.', 'tocsin' ), $origin );
	}

	/**
	 * Returns the message for a key without an address.
	 */
	public static function address_required(): string {
		return __( 'Enter the gateway address together with the API key. A key is sent only to the server that it was entered for.', 'tocsin' );
	}
}
