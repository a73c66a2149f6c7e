<?php
/**
 * The check of a template.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Finds what is wrong with a template, in words for its author. They are not translated: they stand in logs.
 */
final class Tocsin_Template_Validator {
	/**
	 * WordPress has no hooks with more arguments than this, and a wrong number should not go unseen.
	 */
	const MAX_ARITY = 20;

	const FIELDS      = array( 'id', 'icon', 'title', 'hook_name', 'description', 'scenario_name', 'required_plugin', 'hook_meta', 'message_title', 'message_body', 'severity', 'category', 'enabled', 'condition', 'map' );
	const META_FIELDS = array( 'label', 'type', 'arg_names', 'payload_arity' );

	/**
	 * Checks a template and fills in what was left out.
	 *
	 * @param mixed $given What another plugin handed over.
	 * @return array Every field that a Tocsin_Template has.
	 * @throws InvalidArgumentException Names the field and what is expected there.
	 */
	public static function validate( $given ): array {
		if ( ! is_array( $given ) ) {
			throw new InvalidArgumentException( 'A template must be an array, not ' . self::describe_value( $given ) . '.' );
		}
		$hook = self::string_field( $given, 'hook_name', true );
		if ( 'all' === $hook ) {
			throw new InvalidArgumentException( 'hook_name must be a single hook; WordPress fires "all" for every hook.' );
		}
		$title = self::string_field( $given, 'title', true );
		$meta  = $given['hook_meta'] ?? array();
		if ( ! is_array( $meta ) ) {
			throw new InvalidArgumentException( 'hook_meta must be an array with label, type, arg_names and payload_arity, not ' . self::describe_value( $meta ) . '.' );
		}
		$names    = self::arg_names( $meta );
		$scenario = self::string_field( $given, 'scenario_name' );
		$id       = self::string_field( $given, 'id' );
		if ( '' === $id ) {
			$id = $hook . ( '' === $scenario ? '' : '/' . $scenario );
		}
		if ( strlen( $id ) > 190 ) {
			throw new InvalidArgumentException( 'id must be at most 190 bytes long; set a shorter id.' );
		}
		return array(
			'id'              => $id,
			'icon'            => self::string_field( $given, 'icon', false, 'dashicons-bell' ),
			'title'           => $title,
			'hook_name'       => $hook,
			'description'     => self::string_field( $given, 'description' ),
			'scenario_name'   => $scenario,
			'required_plugin' => self::string_field( $given, 'required_plugin' ),
			'label'           => self::string_field( $meta, 'label', false, $title, 'hook_meta.' ),
			'type'            => self::enum_field( $meta, 'type', array( 'action', 'filter' ), 'action', 'hook_meta.' ),
			'arg_names'       => $names,
			'payload_arity'   => self::payload_arity( $meta, count( $names ) ),
			'message_title'   => self::string_field( $given, 'message_title', false, $title ),
			'message_body'    => self::string_field( $given, 'message_body' ),
			'severity'        => self::enum_field( $given, 'severity', Tocsin_Template::SEVERITIES, '' ),
			'category'        => self::enum_field( $given, 'category', Tocsin_Template::CATEGORIES, 'info' ),
			'enabled'         => self::boolean_field( $given, 'enabled' ),
			'condition'       => self::callable_field( $given, 'condition' ),
			'map'             => self::callable_field( $given, 'map' ),
		);
	}

	/**
	 * What a template has beyond the fields that are known, most often misspelt ones.
	 *
	 * @param array $given A template that was found valid.
	 * @return string[]
	 */
	public static function unknown_fields( array $given ): array {
		$unknown = array_keys( array_diff_key( $given, array_flip( self::FIELDS ) ) );
		foreach ( array_keys( array_diff_key( $given['hook_meta'] ?? array(), array_flip( self::META_FIELDS ) ) ) as $field ) {
			$unknown[] = 'hook_meta.' . $field;
		}
		return array_map( 'strval', $unknown );
	}

	/**
	 * A text field.
	 *
	 * @param array  $from     The array that holds it.
	 * @param string $field    Its name.
	 * @param bool   $needed   Whether it must be there.
	 * @param string $fallback What stands in for a missing or blank one.
	 * @param string $prefix   How the message names the array.
	 * @throws InvalidArgumentException When it is no text, or missing.
	 */
	private static function string_field( array $from, string $field, bool $needed = false, string $fallback = '', string $prefix = '' ): string {
		$value = $from[ $field ] ?? '';
		if ( ! is_string( $value ) ) {
			throw new InvalidArgumentException( $prefix . $field . ' must be a string, not ' . self::describe_value( $value ) . '.' );
		}
		$value = trim( $value );
		if ( '' === $value && $needed ) {
			throw new InvalidArgumentException( $prefix . $field . ' is required and must be a non-empty string.' );
		}
		return '' === $value ? $fallback : $value;
	}

	/**
	 * A field with few possible values.
	 *
	 * @param array  $from     The array that holds it.
	 * @param string $field    Its name.
	 * @param array  $allowed  The values.
	 * @param string $fallback What stands in for a missing one.
	 * @param string $prefix   How the message names the array.
	 * @throws InvalidArgumentException When it is another value.
	 */
	private static function enum_field( array $from, string $field, array $allowed, string $fallback, string $prefix = '' ): string {
		$value = $from[ $field ] ?? $fallback;
		if ( ! in_array( $value, $allowed, true ) ) {
			$words = implode( ', ', array_filter( $allowed ) );
			throw new InvalidArgumentException( $prefix . $field . ' must be one of ' . $words . ', not ' . self::describe_value( $value ) . '.' );
		}
		return $value;
	}

	/**
	 * A field that is true or false.
	 *
	 * @param array  $from  The array that holds it.
	 * @param string $field Its name.
	 * @throws InvalidArgumentException When it is neither.
	 */
	private static function boolean_field( array $from, string $field ): bool {
		$value = $from[ $field ] ?? false;
		if ( ! is_bool( $value ) ) {
			throw new InvalidArgumentException( $field . ' must be true or false, not ' . self::describe_value( $value ) . '.' );
		}
		return $value;
	}

	/**
	 * A field that can be called.
	 *
	 * @param array  $from  The array that holds it.
	 * @param string $field Its name.
	 * @throws InvalidArgumentException When it cannot be called.
	 */
	private static function callable_field( array $from, string $field ): ?callable {
		$value = $from[ $field ] ?? null;
		if ( null !== $value && ! is_callable( $value ) ) {
			throw new InvalidArgumentException( $field . ' must be callable, not ' . self::describe_value( $value ) . '.' );
		}
		return $value;
	}

	/**
	 * The names of the arguments.
	 *
	 * @param array $meta The hook_meta.
	 * @throws InvalidArgumentException When one is no name, or two are the same.
	 */
	private static function arg_names( array $meta ): array {
		$names = $meta['arg_names'] ?? array();
		if ( ! is_array( $names ) ) {
			throw new InvalidArgumentException( 'hook_meta.arg_names must be an array of strings, not ' . self::describe_value( $names ) . '.' );
		}
		foreach ( $names as $name ) {
			if ( ! is_string( $name ) || '' === trim( $name ) ) {
				throw new InvalidArgumentException( 'hook_meta.arg_names must contain non-empty strings, not ' . self::describe_value( $name ) . '.' );
			}
		}
		if ( count( array_unique( $names ) ) !== count( $names ) ) {
			throw new InvalidArgumentException( 'hook_meta.arg_names must be unique.' );
		}
		if ( count( $names ) > self::MAX_ARITY ) {
			throw new InvalidArgumentException( 'hook_meta.arg_names must contain at most ' . self::MAX_ARITY . ' names.' );
		}
		return array_values( $names );
	}

	/**
	 * How many arguments go into the payload.
	 *
	 * @param array $meta     The hook_meta.
	 * @param int   $fallback How many names there are.
	 * @throws InvalidArgumentException When it is no such number.
	 */
	private static function payload_arity( array $meta, int $fallback ): int {
		$arity = $meta['payload_arity'] ?? $fallback;
		if ( ! is_int( $arity ) || $arity < 0 || $arity > self::MAX_ARITY ) {
			throw new InvalidArgumentException( 'hook_meta.payload_arity must be an integer from 0 to ' . self::MAX_ARITY . ', not ' . self::describe_value( $arity ) . '.' );
		}
		return $arity;
	}

	/**
	 * What a wrong value is, without showing more of it than helps.
	 *
	 * @param mixed $value The value.
	 */
	private static function describe_value( $value ): string {
		if ( is_string( $value ) ) {
			return '"' . substr( $value, 0, 40 ) . '"';
		}
		return is_int( $value ) || is_bool( $value ) ? var_export( $value, true ) : gettype( $value ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_var_export -- Shows a wrong number as PHP writes it.
	}
}
