<?php
/**
 * Texts with placeholders.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Fills placeholders such as {order}, {order.total} or {site_name}, and keeps to the contract's lengths.
 */
final class Tocsin_Text {
	const MAX_TITLE = 140;
	const MAX_BODY  = 2000;

	/**
	 * What speaks for a thing with several fields where only its name is asked for, best first.
	 */
	const REPRESENTATIVE_FIELDS = array( 'title', 'name', 'number', 'message', 'label', 'code', 'id' );

	/**
	 * A title: one line.
	 *
	 * @param string $text   The text with placeholders.
	 * @param array  $values Described arguments by name.
	 */
	public static function title( string $text, array $values ): string {
		list( $filled, $asked, $found ) = self::fill( str_replace( "\n", ' ', $text ), $values );

		$line = $asked > $found ? self::close_gaps( $filled ) : $filled;
		return self::truncate( trim( (string) preg_replace( '/\s+/u', ' ', $line ) ), self::MAX_TITLE );
	}

	/**
	 * A body: lines that say nothing because all their placeholders are empty are left out.
	 *
	 * @param string $text   The text with placeholders.
	 * @param array  $values Described arguments by name.
	 */
	public static function body( string $text, array $values ): string {
		$lines = explode( "\n", str_replace( array( "\r\n", "\r" ), "\n", $text ) );
		$kept  = array();
		foreach ( $lines as $line ) {
			list( $filled, $asked, $found ) = self::fill( $line, $values );
			if ( 0 === $asked || $found > 0 ) {
				$kept[] = $asked > $found ? self::close_gaps( $filled ) : rtrim( $filled );
			}
		}
		return self::truncate( trim( (string) preg_replace( '/\n{3,}/', "\n\n", implode( "\n", $kept ) ) ), self::MAX_BODY );
	}

	/**
	 * Cuts by characters, never through one.
	 *
	 * @param string $text  The text.
	 * @param int    $limit How many characters may stay.
	 */
	public static function truncate( string $text, int $limit ): string {
		// strlen() is never smaller than the number of characters, and is free.
		if ( strlen( $text ) <= $limit || mb_strlen( $text, 'UTF-8' ) <= $limit ) {
			return $text;
		}
		return rtrim( mb_substr( $text, 0, $limit - 1, 'UTF-8' ) ) . '…';
	}

	/**
	 * Puts a replacement character where bytes are no valid UTF-8, and takes out control characters: in a terminal they are commands, and
	 * a log is read in one. Every PHP can do it this way, also without mbstring.
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
	 * Fills the placeholders of one line.
	 *
	 * @param string $line   The line.
	 * @param array  $values Described arguments by name.
	 * @return array The line, how many placeholders there were, and how many had a value.
	 */
	private static function fill( string $line, array $values ): array {
		$asked  = 0;
		$found  = 0;
		$filled = preg_replace_callback(
			'/\{([A-Za-z0-9_][A-Za-z0-9_ \-]*(?:\.[A-Za-z0-9_ \-]+)*)\}/',
			static function ( array $hit ) use ( $values, &$asked, &$found ) {
				$value = self::lookup( $hit[1], $values );
				++$asked;
				if ( '' !== $value ) {
					++$found;
				}
				return $value;
			},
			$line
		);
		return array( (string) $filled, $asked, $found );
	}

	/**
	 * The text of one placeholder; empty when there is none.
	 *
	 * @param string $path   A name, or a name and fields with dots between.
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
	 * Placeholders that every template has.
	 *
	 * @param string $name The placeholder.
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
	 * A described value as people read it.
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
			$said = self::to_string( $part );
			if ( '' !== $said ) {
				$parts[] = is_int( $key ) ? $said : $key . ': ' . $said;
			}
		}
		return implode( array_keys( $value ) === range( 0, count( $value ) - 1 ) ? ', ' : "\n", $parts );
	}

	/**
	 * Closes the gaps that missing values leave: empty brackets and quotes, double spaces, a mark with nothing on one side.
	 *
	 * @param string $line A line in which something is missing.
	 */
	private static function close_gaps( string $line ): string {
		$line = (string) preg_replace( '/\(\s*\)|\[\s*\]|"\s*"|“\s*”|«\s*»/u', '', $line );
		$line = (string) preg_replace( '/[ \t]{2,}/', ' ', $line );
		$line = (string) preg_replace( '/\s+([,.;:!?])/', '$1', $line );
		return trim( (string) preg_replace( '/^[\s,;:–—-]+|[\s,;:–—-]+$/u', '', $line ) );
	}
}
