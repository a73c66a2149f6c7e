<?php
/**
 * Validation of templates.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Validates template fields. Error messages are for developers and appear in logs, so they are not translated.
 */
final class Tocsin_Template_Validator {
	/**
	 * Upper limit to detect mistakes; no hook of WordPress has more arguments.
	 */
	const MAX_ARITY = 20;

	const FIELDS      = array( 'id', 'icon', 'title', 'hook_name', 'description', 'scenario_name', 'required_plugin', 'hook_meta', 'message_title', 'message_body', 'severity', 'category', 'enabled', 'condition', 'map' );
	const META_FIELDS = array( 'label', 'type', 'arg_names', 'payload_arity' );

	/**
	 * Validates fields and applies defaults.
	 *
	 * @param mixed $given Fields as passed by a plugin.
	 * @return array All fields of a Tocsin_Template.
	 * @throws InvalidArgumentException Names the invalid field and the expected value.
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
	 * Returns the names of unknown fields, which are usually typos.
	 *
	 * @param array $given Fields of a valid template.
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
	 * Reads a string field.
	 *
	 * @param array  $from        The array that contains the field.
	 * @param string $field       Name of the field.
	 * @param bool   $is_required Whether the field is required.
	 * @param string $fallback    Default for a missing or empty value.
	 * @param string $prefix      Prefix of the name in messages.
	 * @throws InvalidArgumentException If it is not a string, or missing.
	 */
	private static function string_field( array $from, string $field, bool $is_required = false, string $fallback = '', string $prefix = '' ): string {
		$value = $from[ $field ] ?? '';
		if ( ! is_string( $value ) ) {
			throw new InvalidArgumentException( $prefix . $field . ' must be a string, not ' . self::describe_value( $value ) . '.' );
		}
		$value = trim( $value );
		if ( '' === $value && $is_required ) {
			throw new InvalidArgumentException( $prefix . $field . ' is required and must be a non-empty string.' );
		}
		return '' === $value ? $fallback : $value;
	}

	/**
	 * Reads a field with a fixed set of values.
	 *
	 * @param array  $from     The array that contains the field.
	 * @param string $field    Name of the field.
	 * @param array  $allowed  Allowed values.
	 * @param string $fallback Default for a missing value.
	 * @param string $prefix   Prefix of the name in messages.
	 * @throws InvalidArgumentException If the value is not allowed.
	 */
	private static function enum_field( array $from, string $field, array $allowed, string $fallback, string $prefix = '' ): string {
		$value = $from[ $field ] ?? $fallback;
		if ( ! in_array( $value, $allowed, true ) ) {
			$list = implode( ', ', array_filter( $allowed ) );
			throw new InvalidArgumentException( $prefix . $field . ' must be one of ' . $list . ', not ' . self::describe_value( $value ) . '.' );
		}
		return $value;
	}

	/**
	 * Reads a boolean field.
	 *
	 * @param array  $from  The array that contains the field.
	 * @param string $field Name of the field.
	 * @throws InvalidArgumentException If it is not a boolean.
	 */
	private static function boolean_field( array $from, string $field ): bool {
		$value = $from[ $field ] ?? false;
		if ( ! is_bool( $value ) ) {
			throw new InvalidArgumentException( $field . ' must be true or false, not ' . self::describe_value( $value ) . '.' );
		}
		return $value;
	}

	/**
	 * Reads a callable field.
	 *
	 * @param array  $from  The array that contains the field.
	 * @param string $field Name of the field.
	 * @throws InvalidArgumentException If it is not callable.
	 */
	private static function callable_field( array $from, string $field ): ?callable {
		$value = $from[ $field ] ?? null;
		if ( null !== $value && ! is_callable( $value ) ) {
			throw new InvalidArgumentException( $field . ' must be callable, not ' . self::describe_value( $value ) . '.' );
		}
		return $value;
	}

	/**
	 * Reads the names of the arguments.
	 *
	 * @param array $meta The field hook_meta.
	 * @throws InvalidArgumentException If a name is invalid or not unique.
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
	 * Reads the number of arguments to send.
	 *
	 * @param array $meta     The field hook_meta.
	 * @param int   $fallback Number of argument names.
	 * @throws InvalidArgumentException If it is not an integer in range.
	 */
	private static function payload_arity( array $meta, int $fallback ): int {
		$arity = $meta['payload_arity'] ?? $fallback;
		if ( ! is_int( $arity ) || $arity < 0 || $arity > self::MAX_ARITY ) {
			throw new InvalidArgumentException( 'hook_meta.payload_arity must be an integer from 0 to ' . self::MAX_ARITY . ', not ' . self::describe_value( $arity ) . '.' );
		}
		return $arity;
	}

	/**
	 * Describes an invalid value for a message.
	 *
	 * @param mixed $value The value.
	 */
	private static function describe_value( $value ): string {
		if ( is_string( $value ) ) {
			return '"' . substr( $value, 0, 40 ) . '"';
		}
		return is_int( $value ) || is_bool( $value ) ? var_export( $value, true ) : gettype( $value ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_var_export -- Prints a number or boolean as PHP code.
	}
}
