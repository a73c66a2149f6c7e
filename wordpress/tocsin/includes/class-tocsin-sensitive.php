<?php
/**
 * What must not leave the site.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Recognizes secrets by their names and by their looks.
 */
final class Tocsin_Sensitive {
	const HIDDEN = '[hidden]';

	/**
	 * Whole words of a name: `user_pass`, `authKey`. As parts of words they would hide authors and passengers.
	 */
	const WORDS = array( 'pass', 'pass1', 'pass2', 'pw', 'pwd', 'key', 'keys', 'auth', 'hash', 'salt', 'card', 'cvc', 'cvv', 'csc', 'cvn', 'iban', 'pin', 'otp', 'mfa', 'totp', 'ssn', 'jwt', 'sid', 'bearer' );

	/**
	 * Parts of a name that mean the same wherever they stand.
	 */
	const PARTS = '/passw|passphrase|passcode|pwhash|secret|token|nonce|authori[sz]ation|cookie|session|credential|apikey|accesskey|privatekey|licen[sc]ekey|creditcard|cardnumber|cardno|signature|recoverycode|backupcode/';

	/**
	 * Entries that name the one beside them: a form's field, an option, a meta value.
	 */
	const NAMING = array( 'name', 'label', 'key', 'id', 'type', 'field', 'title', 'meta_key', 'option', 'option_name', 'option_key' );

	/**
	 * Whether a name is one of a secret.
	 *
	 * @param string $name The name of an argument or a field.
	 */
	public static function is_name( string $name ): bool {
		$name  = substr( $name, 0, 100 );
		$words = preg_split( '/[^a-z0-9]+/', strtolower( (string) preg_replace( '/([a-z0-9])([A-Z])/', '$1_$2', $name ) ) );
		return array() !== array_intersect( $words, self::WORDS ) || 1 === preg_match( self::PARTS, implode( '', $words ) );
	}

	/**
	 * Which entries of an array to hide.
	 *
	 * Where one entry names another (`meta_key` => `session_tokens` beside `meta_value`), that other is hidden.
	 *
	 * @param array $entries The array.
	 * @return array The keys to hide, as keys.
	 */
	public static function keys( array $entries ): array {
		$names  = array_filter( array_slice( array_keys( $entries ), 0, Tocsin_Arguments::MAX_PER_LEVEL ), 'is_string' );
		$values = array_filter( $names, static fn( $name ) => false !== strpos( $name, 'value' ) );
		$hidden = array();
		foreach ( $names as $name ) {
			if ( array() !== $values && in_array( $name, self::NAMING, true ) ) {
				if ( is_string( $entries[ $name ] ) && self::is_name( $entries[ $name ] ) ) {
					$hidden += array_flip( $values );
				}
			} elseif ( ! is_bool( $entries[ $name ] ) && self::is_name( $name ) ) {
				$hidden[ $name ] = true;
			}
		}
		return $hidden;
	}

	/**
	 * Takes out of a text what looks like a secret: hashes of passwords, API keys of the gateway, bearer tokens, and
	 * secrets in links, such as the one that resets a password.
	 *
	 * @param string $text Valid UTF-8.
	 */
	public static function scrub( string $text ): string {
		if ( 1 === preg_match( '/^\$(?:P|H|S|wp|1|5|6|2[abxy]|argon2(?:id?|d)|generic)\$\S+$/', $text ) ) {
			return self::HIDDEN;
		}
		return (string) preg_replace(
			array(
				'/\bsvc_[A-Za-z0-9_\-]{8,}/',
				'/\b(Bearer|Basic)\s+[A-Za-z0-9._~+\/\-]{8,}=*/i',
				'/([?&;](?:[a-z0-9_\-]*(?:key|token|nonce|secret|pass|password|pwd|auth|code|signature|sig|session|sid))=)[^&\s"\'<>#]+/i',
			),
			array( self::HIDDEN, '$1 ' . self::HIDDEN, '$1' . self::HIDDEN ),
			$text
		);
	}
}
