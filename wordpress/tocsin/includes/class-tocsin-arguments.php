<?php
/**
 * Describes a hook's arguments.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Turns whatever hooks hand over into small, readable, harmless data. One instance describes one event.
 *
 * All limits hold while walking, so that the cost is bounded too, not only the result.
 */
final class Tocsin_Arguments {
	const MAX_DEPTH      = 5;
	const MAX_PER_LEVEL  = 50;
	const MAX_ENTRIES    = 200;
	const MAX_CHARACTERS = 2000;

	/**
	 * Bytes of JSON, counted with every character escaped that can be: what is sent is smaller. Together with what the
	 * companion adds it stays below 64 KiB.
	 */
	const MAX_BYTES = 56000;

	const ELLIPSIS = '…';

	/**
	 * How many entries may still come.
	 *
	 * @var int
	 */
	private int $entries = self::MAX_ENTRIES;

	/**
	 * How many bytes may still come.
	 *
	 * @var int
	 */
	private int $bytes = self::MAX_BYTES;

	/**
	 * The objects that are being described, by their ids: one inside itself is not described again.
	 *
	 * @var array
	 */
	private array $open = array();

	/**
	 * Arguments by name, described.
	 *
	 * @param array $named Values by name.
	 */
	public function describe( array $named ): array {
		return $this->describe_array( $named, 1 );
	}

	/**
	 * One value.
	 *
	 * @param mixed $value Anything.
	 * @param int   $depth How deep it lies; an argument is at 1.
	 * @return mixed Scalars, null and arrays of them.
	 */
	private function describe_value( $value, int $depth ) {
		if ( is_string( $value ) ) {
			return $this->describe_string( $value );
		}
		if ( is_float( $value ) && ! is_finite( $value ) ) {
			// JSON has no word for it, and PHP 8.5 warns when it is made a text.
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
	 * The entries of an array.
	 *
	 * @param array $entries The array.
	 * @param int   $depth   How deep its entries lie.
	 */
	private function describe_array( array $entries, int $depth ): array {
		$described = array();
		$first     = array_slice( $entries, 0, self::MAX_PER_LEVEL, true );
		$hidden    = Tocsin_Redactor::secret_keys( $first );
		$left      = count( $entries );
		$is_list   = array_keys( $first ) === array_keys( array_keys( $first ) );
		foreach ( $first as $key => $value ) {
			if ( $this->entries <= 0 || $this->bytes <= 0 ) {
				break;
			}
			--$this->entries;
			--$left;
			$name               = is_int( $key ) ? $key : $this->describe_string( $key );
			$described[ $name ] = isset( $hidden[ $key ] ) ? Tocsin_Redactor::HIDDEN : $this->describe_value( $value, $depth + 1 );
			$this->bytes       -= 16;
		}
		if ( $left > 0 ) {
			/* translators: %d: a number of entries. */
			$note = sprintf( __( '%d more omitted', 'tocsin' ), $left );
			if ( $is_list ) {
				$described[] = self::ELLIPSIS . ' ' . $note;
			} else {
				$described[ self::ELLIPSIS ] = $note;
			}
		}
		return $described;
	}

	/**
	 * An object: what is known of its kind, or its class only.
	 *
	 * @param object $thing The object.
	 * @param int    $depth How deep it lies.
	 * @return mixed
	 */
	private function describe_object( $thing, int $depth ) {
		$id = spl_object_id( $thing );
		if ( $depth > self::MAX_DEPTH || isset( $this->open[ $id ] ) ) {
			return '[' . $this->describe_string( Tocsin_Object_Fields::class_name( $thing ) ) . ']';
		}
		$this->open[ $id ] = true;
		try {
			$fields = Tocsin_Object_Fields::fields( $thing );
			if ( null === $fields ) {
				return '[' . $this->describe_string( Tocsin_Object_Fields::class_name( $thing ) ) . ']';
			}
			return is_array( $fields ) ? $this->describe_array( $fields, $depth ) : $this->describe_value( $fields, $depth );
		} catch ( Throwable $problem ) {
			return '[' . $this->describe_string( Tocsin_Object_Fields::class_name( $thing ) ) . ']';
		} finally {
			unset( $this->open[ $id ] );
		}
	}

	/**
	 * A text: valid UTF-8, without secrets that can be recognized, and not long.
	 *
	 * @param string $text Any bytes.
	 */
	private function describe_string( string $text ): string {
		// Four bytes is the longest character: what lies behind is cut anyway, and need not be looked at.
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
