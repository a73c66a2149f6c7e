<?php
/**
 * Redaction of secrets.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Recognizes secrets by name and by format, and replaces them.
 */
final class Tocsin_Redactor {
	const HIDDEN = '[hidden]';

	/**
	 * Whole words of a secret's name: `user_pass`, `authKey`. As substrings they would match "author" and "passenger".
	 */
	const NAME_WORDS = array( 'pass', 'pass1', 'pass2', 'pw', 'pwd', 'key', 'keys', 'auth', 'hash', 'salt', 'card', 'cvc', 'cvc2', 'cvv', 'cvv2', 'csc', 'cvn', 'iban', 'pin', 'otp', 'mfa', 'totp', 'ssn', 'jwt', 'sid', 'bearer' );

	/**
	 * Substrings of a secret's name.
	 */
	const NAME_PATTERN = '/passw|passphrase|passcode|pwhash|secret|token|nonce|oauth|authori[sz]ation|cookie|session|credential|apikey|accesskey|privatekey|privkey|licen[sc]ekey|creditcard|cardnumber|cardno|signature|recoverycode|backupcode|verificationcode|magiclink/';

	/**
	 * Formats of secrets in text: password hashes, API keys of this gateway and of other services, tokens, login cookies, and secrets in
	 * URLs such as password reset links. The first capture group is kept.
	 */
	const SECRET_PATTERNS = array(
		'/\$[PHS]\$[.\/A-Za-z0-9]{20,}/',
		'/\$(?:wp\$)?2[abxy]\$\d\d\$[.\/A-Za-z0-9]{20,}/',
		'/\$(?:argon2(?:id?|d)|generic)\$[^\s"\'<>]+/',
		'/\$[156]\$[^\s$"\'<>]{0,64}\$[.\/A-Za-z0-9]{20,}/',
		'/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)/s',
		'/\bsvc_[A-Za-z0-9_\-]{8,}/',
		'/\b(?:[rs]k_(?:live|test)_|whsec_|gh[pousr]_|xox[abprs]-)[A-Za-z0-9\-]{10,}/',
		'/(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*/',
		'/(?:\||%7C)\d{10}(?:\||%7C)[A-Za-z0-9]{43}(?:\||%7C)[a-f0-9]{64}/i',
		'/(\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+\/\-]{8,}=*/i',
		'/(:\/\/[^\/\s:@]*:)[^\/\s@]+(?=@)/',
		'/((?:^|[?&;#])[a-z0-9_\-]*(?:key|token|nonce|secret|pass|password|pwd|auth|code|signature|sig|session|sid)=)[^&\s"\'<>#]+/i',
	);

	/**
	 * A name and a value in JSON or in the format of PHP's serialize().
	 */
	const PAIR_PATTERN = '/"([^"\\\\]{1,100})"(\s*[:;]\s*(?:s:\d+:)?")(?:[^"\\\\]|\\\\.)*+/s';

	/**
	 * Keys whose value is the name of a sibling value: a form field, an option, a meta value.
	 */
	const NAMING_KEYS = array( 'name', 'label', 'key', 'id', 'type', 'field', 'title', 'meta_key', 'option', 'option_name', 'option_key' );

	/**
	 * Whether a name denotes a secret.
	 *
	 * @param string $name Name of an argument or field.
	 */
	public static function is_secret_name( string $name ): bool {
		$name  = substr( $name, 0, 100 );
		$words = preg_split( '/[^a-z0-9]+/', strtolower( (string) preg_replace( '/([a-z0-9])([A-Z])/', '$1_$2', $name ) ) );
		return array() !== array_intersect( $words, self::NAME_WORDS ) || 1 === preg_match( self::NAME_PATTERN, implode( '', $words ) );
	}

	/**
	 * Returns the keys of an array whose values must be hidden.
	 *
	 * If an entry names a sibling (`meta_key` => `session_tokens` beside `meta_value`), the sibling is hidden.
	 *
	 * @param array $entries The array.
	 * @return array The keys to hide, as array keys.
	 */
	public static function secret_keys( array $entries ): array {
		$names  = array_filter( array_keys( $entries ), 'is_string' );
		$values = array_filter( $names, static fn( $name ) => false !== strpos( $name, 'value' ) );
		$hidden = array();
		foreach ( $names as $name ) {
			if ( array() !== $values && in_array( $name, self::NAMING_KEYS, true ) ) {
				if ( is_string( $entries[ $name ] ) && self::is_secret_name( $entries[ $name ] ) ) {
					$hidden += array_flip( $values );
				}
			} elseif ( ! is_bool( $entries[ $name ] ) && self::is_secret_name( $name ) ) {
				$hidden[ $name ] = true;
			}
		}
		return $hidden;
	}

	/**
	 * Replaces secrets in a text, recognized by format or by name.
	 *
	 * @param string $text Valid UTF-8.
	 */
	public static function redact( string $text ): string {
		$text = preg_replace( self::SECRET_PATTERNS, '$1' . self::HIDDEN, $text );
		return (string) preg_replace_callback(
			self::PAIR_PATTERN,
			static fn( array $pair ) => self::is_secret_name( $pair[1] ) ? '"' . $pair[1] . '"' . $pair[2] . self::HIDDEN : $pair[0],
			(string) $text
		);
	}
}
