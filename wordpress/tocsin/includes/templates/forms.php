<?php
/**
 * Templates about forms.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

$tocsin_form_body = "{fields}\n{page}";

return array(
	array(
		'id'              => 'contact_form_7_sent',
		'icon'            => 'dashicons-feedback',
		'title'           => __( 'Form submitted', 'tocsin' ),
		'description'     => __( 'A visitor submits a form and its email is sent.', 'tocsin' ),
		'scenario_name'   => 'Contact Form 7',
		'required_plugin' => 'contact-form-7',
		'hook_name'       => 'wpcf7_mail_sent',
		'hook_meta'       => array(
			'label'         => __( 'Form email sent', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'form', 'fields', 'page' ),
			'payload_arity' => 1,
		),
		'message_title'   => __( 'Form: {form}', 'tocsin' ),
		'message_body'    => $tocsin_form_body,
		'category'        => 'task',
		'map'             => static fn( array $args ) => Tocsin_Forms::contact_form_7( $args[0] ?? null ),
	),
	array(
		'id'              => 'contact_form_7_failed',
		'icon'            => 'dashicons-warning',
		'title'           => __( 'Form email failed', 'tocsin' ),
		'description'     => __( 'A visitor submits a form, but its email cannot be sent. The notification contains the fields, so nothing is lost.', 'tocsin' ),
		'scenario_name'   => 'Contact Form 7',
		'required_plugin' => 'contact-form-7',
		'hook_name'       => 'wpcf7_mail_failed',
		'hook_meta'       => array(
			'label'         => __( 'Form email failed', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'form', 'fields', 'page' ),
			'payload_arity' => 1,
		),
		'message_title'   => __( 'Form email failed: {form}', 'tocsin' ),
		'message_body'    => $tocsin_form_body,
		'severity'        => 'error',
		'category'        => 'task',
		'map'             => static fn( array $args ) => Tocsin_Forms::contact_form_7( $args[0] ?? null ),
	),
	array(
		'id'              => 'wpforms_sent',
		'icon'            => 'dashicons-feedback',
		'title'           => __( 'Form submitted', 'tocsin' ),
		'description'     => __( 'A visitor submits a form.', 'tocsin' ),
		'scenario_name'   => 'WPForms',
		'required_plugin' => 'wpforms',
		'hook_name'       => 'wpforms_process_complete',
		'hook_meta'       => array(
			'label'         => __( 'Form submitted', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'form', 'fields' ),
			'payload_arity' => 3,
		),
		'message_title'   => __( 'Form: {form}', 'tocsin' ),
		'message_body'    => '{fields}',
		'category'        => 'task',
		'map'             => static fn( array $args ) => Tocsin_Forms::wpforms( $args ),
	),
	array(
		'id'              => 'gravity_forms_sent',
		'icon'            => 'dashicons-feedback',
		'title'           => __( 'Form submitted', 'tocsin' ),
		'description'     => __( 'A visitor submits a form.', 'tocsin' ),
		'scenario_name'   => 'Gravity Forms',
		'required_plugin' => 'gravityforms',
		'hook_name'       => 'gform_after_submission',
		'hook_meta'       => array(
			'label'         => __( 'Form submitted', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'form', 'fields', 'page' ),
			'payload_arity' => 2,
		),
		'message_title'   => __( 'Form: {form}', 'tocsin' ),
		'message_body'    => $tocsin_form_body,
		'category'        => 'task',
		'map'             => static fn( array $args ) => Tocsin_Forms::gravity_forms( $args ),
	),
);
