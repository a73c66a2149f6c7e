<?php
/**
 * Forms of other plugins.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Reads what visitors sent: the form's title, and the values by the labels of the fields.
 */
final class Tocsin_Forms {
	/**
	 * Fields whose values are nobody's business.
	 */
	const PRIVATE_TYPES = array( 'password', 'credit-card', 'payment-credit-card', 'creditcard' );

	/**
	 * Contact Form 7, from its form and the submission that it holds.
	 *
	 * @param mixed $form A WPCF7_ContactForm.
	 */
	public static function contact_form_7( $form ): array {
		$submission = class_exists( 'WPCF7_Submission' ) ? WPCF7_Submission::get_instance() : null;
		$fields     = array();
		foreach ( $submission ? (array) $submission->get_posted_data() : array() as $name => $value ) {
			// What begins with an underscore is the plugin's own.
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
	 * WPForms, from the arguments of wpforms_process_complete: fields, entry, form data.
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
	 * Gravity Forms, from the arguments of gform_after_submission: entry, form.
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
	 * Adds a field under its label; two with the same label both stay. A label begins with a capital letter: among fields called `name` and
	 * `message` the name would speak for all of them, as that of a post does.
	 *
	 * @param array $fields What is there.
	 * @param mixed $label  The label.
	 * @param mixed $value  The value.
	 * @param mixed $id     The field's number.
	 */
	private static function add_field( array $fields, $label, $value, $id ): array {
		if ( '' !== $value && array() !== $value ) {
			$label = is_string( $label ) && '' !== trim( $label ) ? ucfirst( trim( $label ) ) : (string) $id;
			$fields[ isset( $fields[ $label ] ) ? $label . ' (' . $id . ')' : $label ] = $value;
		}
		return $fields;
	}
}
