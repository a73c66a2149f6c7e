<?php
/**
 * Submitted forms of form plugins.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Extracts the title of a submitted form and its values by field label.
 */
final class Tocsin_Forms {
	/**
	 * Types of fields whose values are never sent.
	 */
	const PRIVATE_TYPES = array( 'password', 'credit-card', 'payment-credit-card', 'creditcard' );

	/**
	 * Reads a submission of Contact Form 7.
	 *
	 * @param mixed $form A WPCF7_ContactForm.
	 */
	public static function contact_form_7( $form ): array {
		$submission = class_exists( 'WPCF7_Submission' ) ? WPCF7_Submission::get_instance() : null;
		$fields     = array();
		foreach ( $submission ? (array) $submission->get_posted_data() : array() as $name => $value ) {
			// Fields with a leading underscore are internal.
			if ( 0 !== strpos( (string) $name, '_' ) ) {
				$fields = self::add_field( $fields, strtr( (string) $name, '-_', '  ' ), $value, $name );
			}
		}
		return array(
			'form'   => is_object( $form ) && method_exists( $form, 'title' ) ? $form->title() : '',
			'fields' => $fields,
			'page'   => $submission ? (string) $submission->get_meta( 'url' ) : '',
		);
	}

	/**
	 * Reads a submission of WPForms from the arguments of wpforms_process_complete: fields, entry, form data.
	 *
	 * @param array $args The hook's arguments.
	 */
	public static function wpforms( array $args ): array {
		$fields = array();
		foreach ( is_array( $args[0] ?? null ) ? $args[0] : array() as $id => $field ) {
			if ( is_array( $field ) && ! in_array( $field['type'] ?? '', self::PRIVATE_TYPES, true ) ) {
				$fields = self::add_field( $fields, $field['name'] ?? '', $field['value'] ?? '', $id );
			}
		}
		return array(
			'form'   => $args[2]['settings']['form_title'] ?? '',
			'fields' => $fields,
		);
	}

	/**
	 * Reads a submission of Gravity Forms from the arguments of gform_after_submission: entry, form.
	 *
	 * @param array $args The hook's arguments.
	 */
	public static function gravity_forms( array $args ): array {
		$entry  = is_array( $args[0] ?? null ) ? $args[0] : array();
		$form   = is_array( $args[1] ?? null ) ? $args[1] : array();
		$fields = array();
		foreach ( (array) ( $form['fields'] ?? array() ) as $field ) {
			if ( is_object( $field ) && ! in_array( $field->type ?? '', self::PRIVATE_TYPES, true ) ) {
				$value  = method_exists( $field, 'get_value_export' ) ? $field->get_value_export( $entry ) : ( $entry[ (string) $field->id ] ?? '' );
				$fields = self::add_field( $fields, $field->label ?? '', $value, $field->id );
			}
		}
		return array(
			'form'   => $form['title'] ?? '',
			'fields' => $fields,
			'page'   => $entry['source_url'] ?? '',
		);
	}

	/**
	 * Adds a field under its label. A duplicate label gets the field id appended. Labels are capitalized, because Tocsin_Text would print
	 * only the entry `name` of an array that has one.
	 *
	 * @param array $fields Fields so far.
	 * @param mixed $label  Label of the field.
	 * @param mixed $value  Value of the field.
	 * @param mixed $id     Id of the field.
	 */
	private static function add_field( array $fields, $label, $value, $id ): array {
		if ( '' !== $value && array() !== $value ) {
			$label = is_string( $label ) && '' !== trim( $label ) ? ucfirst( trim( $label ) ) : (string) $id;
			$fields[ isset( $fields[ $label ] ) ? $label . ' (' . $id . ')' : $label ] = $value;
		}
		return $fields;
	}
}
