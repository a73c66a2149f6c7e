<?php
/**
 * Settings of the templates.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Reads and writes which templates are enabled, and their texts.
 */
final class Tocsin_Template_Settings {
	const OPTION = 'tocsin_templates';

	/**
	 * Template registry, for default texts.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Templates $templates Template registry.
	 */
	public function __construct( Tocsin_Templates $templates ) {
		$this->templates = $templates;
	}

	/**
	 * Whether a template is enabled.
	 *
	 * @param string $template_id Template id.
	 */
	public function is_enabled( string $template_id ): bool {
		$saved = $this->saved_template( $template_id );
		if ( isset( $saved['on'] ) ) {
			return (bool) $saved['on'];
		}
		$template = $this->templates->find( $template_id );
		return null !== $template && $template->is_enabled_by_default();
	}

	/**
	 * Returns the texts of a template: saved ones, otherwise the defaults.
	 *
	 * @param string $template_id Template id.
	 * @return array With title, body, severity and category.
	 */
	public function texts( string $template_id ): array {
		$template = $this->templates->find( $template_id );
		$defaults = null === $template ? array(
			'title'    => '',
			'body'     => '',
			'severity' => '',
			'category' => 'info',
		) : $template->default_texts();
		return array_merge( $defaults, array_filter( array_intersect_key( $this->saved_template( $template_id ), $defaults ), 'is_string' ) );
	}

	/**
	 * Stores the settings of a template.
	 *
	 * A text equal to the default is not stored, so that it follows updates and translations.
	 *
	 * @param string $template_id Template id.
	 * @param bool   $is_enabled  Whether it is enabled.
	 * @param array  $texts       Any of title, body, severity and category; missing ones are reset to their defaults.
	 * @return bool False if the template does not exist.
	 */
	public function save( string $template_id, bool $is_enabled, array $texts = array() ): bool {
		$template = $this->templates->find( $template_id );
		if ( null === $template ) {
			return false;
		}
		$saved = array( 'on' => $is_enabled );
		foreach ( $template->default_texts() as $field => $default ) {
			$text = self::sanitize_text( $field, $texts[ $field ] ?? null );
			if ( null !== $text && self::sanitize_text( $field, $default ) !== $text ) {
				$saved[ $field ] = $text;
			}
		}
		update_option( self::OPTION, array( $template_id => $saved ) + $this->saved_templates(), true );
		// Attaches the template in this request if it was enabled.
		do_action( 'tocsin_templates_changed' );
		return true;
	}

	/**
	 * Sanitizes a text, severity or category; null stands for the default.
	 *
	 * @param string $field Name of the field.
	 * @param mixed  $value Submitted value.
	 */
	private static function sanitize_text( string $field, $value ): ?string {
		if ( ! is_string( $value ) ) {
			return null;
		}
		switch ( $field ) {
			case 'severity':
				return in_array( $value, Tocsin_Template::SEVERITIES, true ) ? $value : null;
			case 'category':
				return in_array( $value, Tocsin_Template::CATEGORIES, true ) ? $value : null;
			case 'title':
				$title = mb_substr( trim( (string) preg_replace( '/\s+/u', ' ', Tocsin_Text::sanitize( $value ) ) ), 0, 500 );
				return '' === $title ? null : $title;
		}
		return mb_substr( trim( str_replace( "\r\n", "\n", Tocsin_Text::sanitize( $value ) ) ), 0, 5000 );
	}

	/**
	 * Returns the saved settings of a template.
	 *
	 * @param string $template_id Template id.
	 */
	private function saved_template( string $template_id ): array {
		$saved = $this->saved_templates()[ $template_id ] ?? array();
		return is_array( $saved ) ? $saved : array();
	}

	/**
	 * Returns the saved settings of all templates.
	 */
	private function saved_templates(): array {
		$saved = get_option( self::OPTION, array() );
		return is_array( $saved ) ? $saved : array();
	}
}
