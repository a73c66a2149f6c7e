<?php
/**
 * Texts with placeholders.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Replaces placeholders such as {order}, {order.total} or {site_name}, and truncates texts to the limits of the contract.
 */
final class Tocsin_Text {
	const MAX_TITLE = 140;
	const MAX_BODY  = 2000;

	/**
	 * Fields that represent an array in a text, in order of preference.
	 */
	const REPRESENTATIVE_FIELDS = array( 'title', 'name', 'number', 'message', 'label', 'code', 'id' );

	/**
	 * Renders a title as a single line.
	 *
	 * @param string $text   Text with placeholders.
	 * @param array  $values Described arguments by name.
	 */
	public static function title( string $text, array $values ): string {
		list( $filled, $placeholders, $found ) = self::fill( str_replace( "\n", ' ', $text ), $values );

		$line = $placeholders > $found ? self::close_gaps( $filled ) : $filled;
		return self::truncate( trim( (string) preg_replace( '/\s+/u', ' ', $line ) ), self::MAX_TITLE );
	}

	/**
	 * Renders a body. Lines in which no placeholder has a value are removed.
	 *
	 * @param string $text   Text with placeholders.
	 * @param array  $values Described arguments by name.
	 */
	public static function body( string $text, array $values ): string {
		$lines = explode( "\n", str_replace( array( "\r\n", "\r" ), "\n", $text ) );
		$kept  = array();
		foreach ( $lines as $line ) {
			list( $filled, $placeholders, $found ) = self::fill( $line, $values );
			if ( 0 === $placeholders || $found > 0 ) {
				$kept[] = $placeholders > $found ? self::close_gaps( $filled ) : rtrim( $filled );
			}
		}
		return self::truncate( trim( (string) preg_replace( '/\n{3,}/', "\n\n", implode( "\n", $kept ) ) ), self::MAX_BODY );
	}

	/**
	 * Truncates a text to a number of characters.
	 *
	 * @param string $text  The text.
	 * @param int    $limit Maximum number of characters.
	 */
	public static function truncate( string $text, int $limit ): string {
		// strlen() is never smaller than the number of characters, and takes constant time.
		if ( strlen( $text ) <= $limit || mb_strlen( $text, 'UTF-8' ) <= $limit ) {
			return $text;
		}
		return rtrim( mb_substr( $text, 0, $limit - 1, 'UTF-8' ) ) . '…';
	}

	/**
	 * Replaces invalid UTF-8 and removes control characters, which a terminal would interpret when a log is printed. Works without mbstring.
	 *
	 * @param string $text Any bytes.
	 */
	public static function sanitize( string $text ): string {
		if ( 1 !== preg_match( '//u', $text ) ) {
			$text = htmlspecialchars_decode( htmlspecialchars( $text, ENT_NOQUOTES | ENT_SUBSTITUTE, 'UTF-8' ), ENT_NOQUOTES );
		}
		return (string) preg_replace( '/[\x00-\x08\x0B\x0C\x0E-\x1F\x7F]|\xC2[\x80-\x9F]/', '', $text );
	}

	/**
	 * Replaces the placeholders of one line.
	 *
	 * @param string $line   The line.
	 * @param array  $values Described arguments by name.
	 * @return array The line, the number of placeholders, and the number of those with a value.
	 */
	private static function fill( string $line, array $values ): array {
		$placeholders = 0;
		$found        = 0;
		$filled       = preg_replace_callback(
			'/\{([A-Za-z0-9_][A-Za-z0-9_ \-]*(?:\.[A-Za-z0-9_ \-]+)*)\}/',
			static function ( array $match ) use ( $values, &$placeholders, &$found ) {
				$value = self::lookup( $match[1], $values );
				++$placeholders;
				if ( '' !== $value ) {
					++$found;
				}
				return $value;
			},
			$line
		);
		return array( (string) $filled, $placeholders, $found );
	}

	/**
	 * Returns the value of a placeholder as text; empty if there is none.
	 *
	 * @param string $path   A name, or a name and fields separated by dots.
	 * @param array  $values Described arguments by name.
	 */
	private static function lookup( string $path, array $values ): string {
		$value = $values;
		foreach ( explode( '.', $path ) as $step ) {
			if ( ! is_array( $value ) || ! array_key_exists( $step, $value ) ) {
				return self::site_value( $path );
			}
			$value = $value[ $step ];
		}
		return self::to_string( $value );
	}

	/**
	 * Returns the value of a placeholder that is available in every template.
	 *
	 * @param string $name Name of the placeholder.
	 */
	private static function site_value( string $name ): string {
		switch ( $name ) {
			case 'site_name':
				$title = trim( wp_specialchars_decode( (string) get_option( 'blogname' ), ENT_QUOTES ) );
				return '' === $title ? (string) wp_parse_url( home_url(), PHP_URL_HOST ) : $title;
			case 'site_url':
				return home_url();
			case 'site_host':
				return (string) wp_parse_url( home_url(), PHP_URL_HOST );
			case 'date':
				return (string) wp_date( (string) get_option( 'date_format' ) );
			case 'time':
				return (string) wp_date( (string) get_option( 'time_format' ) );
		}
		return '';
	}

	/**
	 * Converts a described value to text.
	 *
	 * @param mixed $value The value.
	 */
	private static function to_string( $value ): string {
		if ( is_bool( $value ) ) {
			return $value ? __( 'yes', 'tocsin' ) : __( 'no', 'tocsin' );
		}
		if ( ! is_array( $value ) ) {
			return trim( (string) $value );
		}
		foreach ( self::REPRESENTATIVE_FIELDS as $name ) {
			if ( isset( $value[ $name ] ) && is_scalar( $value[ $name ] ) ) {
				return self::to_string( $value[ $name ] );
			}
		}
		$parts = array();
		foreach ( $value as $key => $part ) {
			$text = self::to_string( $part );
			if ( '' !== $text ) {
				$parts[] = is_int( $key ) ? $text : $key . ': ' . $text;
			}
		}
		return implode( array_keys( $value ) === range( 0, count( $value ) - 1 ) ? ', ' : "\n", $parts );
	}

	/**
	 * Removes what missing values leave over: empty brackets and quotes, double spaces, leading and trailing punctuation.
	 *
	 * @param string $line A line with missing values.
	 */
	private static function close_gaps( string $line ): string {
		$line = (string) preg_replace( '/\(\s*\)|\[\s*\]|"\s*"|“\s*”|«\s*»/u', '', $line );
		$line = (string) preg_replace( '/[ \t]{2,}/', ' ', $line );
		$line = (string) preg_replace( '/\s+([,.;:!?])/', '$1', $line );
		return trim( (string) preg_replace( '/^[\s,;:–—-]+|[\s,;:–—-]+$/u', '', $line ) );
	}
}
