<?php
/**
 * Conversion of hook arguments to a payload.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Converts arbitrary hook arguments to small, readable, redacted data. One instance per event.
 *
 * Limits are enforced during traversal, so that they bound the processing time as well as the size of the result.
 */
final class Tocsin_Arguments {
	const MAX_DEPTH      = 5;
	const MAX_PER_LEVEL  = 50;
	const MAX_ENTRIES    = 200;
	const MAX_CHARACTERS = 2000;

	/**
	 * Maximum size as JSON, counted with all escapes, so the request is smaller. Together with the fields that the
	 * companion adds it stays below 64 KiB.
	 */
	const MAX_BYTES = 56000;

	const ELLIPSIS = '…';

	/**
	 * Remaining number of entries.
	 *
	 * @var int
	 */
	private int $entries = self::MAX_ENTRIES;

	/**
	 * Remaining number of bytes.
	 *
	 * @var int
	 */
	private int $bytes = self::MAX_BYTES;

	/**
	 * Ids of the objects being described, to detect cycles.
	 *
	 * @var array
	 */
	private array $ancestors = array();

	/**
	 * Describes arguments by name.
	 *
	 * @param array $named Values by name.
	 */
	public function describe( array $named ): array {
		return $this->describe_array( $named, 1 );
	}

	/**
	 * Describes one value.
	 *
	 * @param mixed $value Any value.
	 * @param int   $depth Nesting depth; 1 for an argument.
	 * @return mixed Scalar, null or nested array of them.
	 */
	private function describe_value( $value, int $depth ) {
		if ( is_string( $value ) ) {
			return $this->describe_string( $value );
		}
		if ( is_float( $value ) && ! is_finite( $value ) ) {
			// JSON cannot represent it, and PHP 8.5 warns when it is converted to a string.
			return is_nan( $value ) ? '[NaN]' : '[infinite]';
		}
		if ( null === $value || is_scalar( $value ) ) {
			return $value;
		}
		if ( is_array( $value ) ) {
			return $depth > self::MAX_DEPTH ? '[array]' : $this->describe_array( $value, $depth );
		}
		return is_object( $value ) ? $this->describe_object( $value, $depth ) : '[' . gettype( $value ) . ']';
	}

	/**
	 * Describes an array.
	 *
	 * @param array $entries The array.
	 * @param int   $depth   Nesting depth of its entries.
	 */
	private function describe_array( array $entries, int $depth ): array {
		$described = array();
		$first     = array_slice( $entries, 0, self::MAX_PER_LEVEL, true );
		$hidden    = Tocsin_Redactor::secret_keys( $first );
		$remaining = count( $entries );
		$is_list   = array_keys( $first ) === array_keys( array_keys( $first ) );
		foreach ( $first as $key => $value ) {
			if ( $this->entries <= 0 || $this->bytes <= 0 ) {
				break;
			}
			--$this->entries;
			--$remaining;
			$name               = is_int( $key ) ? $key : $this->describe_string( $key );
			$described[ $name ] = isset( $hidden[ $key ] ) ? Tocsin_Redactor::HIDDEN : $this->describe_value( $value, $depth + 1 );
			$this->bytes       -= 16;
		}
		if ( $remaining > 0 ) {
			/* translators: %d: number of entries. */
			$note = sprintf( __( '%d more omitted', 'tocsin' ), $remaining );
			if ( $is_list ) {
				$described[] = self::ELLIPSIS . ' ' . $note;
			} else {
				$described[ self::ELLIPSIS ] = $note;
			}
		}
		return $described;
	}

	/**
	 * Describes an object by its fields, or by its class name if the class is unknown.
	 *
	 * @param object $object The object.
	 * @param int    $depth  Nesting depth.
	 * @return mixed
	 */
	private function describe_object( $object, int $depth ) {
		$id = spl_object_id( $object );
		if ( $depth > self::MAX_DEPTH || isset( $this->ancestors[ $id ] ) ) {
			return '[' . $this->describe_string( Tocsin_Object_Fields::class_name( $object ) ) . ']';
		}
		$this->ancestors[ $id ] = true;
		try {
			$fields = Tocsin_Object_Fields::fields( $object );
			if ( null === $fields ) {
				return '[' . $this->describe_string( Tocsin_Object_Fields::class_name( $object ) ) . ']';
			}
			return is_array( $fields ) ? $this->describe_array( $fields, $depth ) : $this->describe_value( $fields, $depth );
		} catch ( Throwable $problem ) {
			return '[' . $this->describe_string( Tocsin_Object_Fields::class_name( $object ) ) . ']';
		} finally {
			unset( $this->ancestors[ $id ] );
		}
	}

	/**
	 * Converts a string to valid UTF-8, redacts it and truncates it.
	 *
	 * @param string $text Any bytes.
	 */
	private function describe_string( string $text ): string {
		// A character has at most four bytes; the rest would be truncated anyway and need not be processed.
		$text = substr( $text, 0, 4 * ( self::MAX_CHARACTERS + 1 ) );
		$text = Tocsin_Text::truncate( Tocsin_Redactor::redact( Tocsin_Text::sanitize( $text ) ), self::MAX_CHARACTERS );
		$size = strlen( (string) wp_json_encode( $text ) );
		if ( $size > $this->bytes ) {
			$text = Tocsin_Text::truncate( $text, max( 1, intdiv( $this->bytes, 12 ) ) );
			$size = strlen( (string) wp_json_encode( $text ) );
		}
		$this->bytes -= $size;
		return $text;
	}
}
