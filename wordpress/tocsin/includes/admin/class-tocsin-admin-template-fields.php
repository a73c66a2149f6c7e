<?php
/**
 * Form fields of a template.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Prints and reads the switch and the texts of a template on the screen "Templates".
 */
final class Tocsin_Admin_Template_Fields {

	/**
	 * Saved settings.
	 *
	 * @var Tocsin_Template_Settings
	 */
	private Tocsin_Template_Settings $settings;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Template_Settings $settings Saved settings.
	 */
	public function __construct( Tocsin_Template_Settings $settings ) {
		$this->settings = $settings;
	}

	/**
	 * Returns the name of a template in the form. Ids may contain brackets and dots, which PHP interprets in field names.
	 *
	 * @param Tocsin_Template $template The template.
	 */
	public static function key( Tocsin_Template $template ): string {
		return 't' . substr( md5( $template->id() ), 0, 12 );
	}

	/**
	 * Returns the submitted values of a template; null if some are missing, because PHP drops fields beyond max_input_vars.
	 *
	 * @param mixed $posted Fields of the template, without slashes.
	 * @return array{on: bool, texts: array<string, string>}|null
	 */
	public static function values( $posted ): ?array {
		if ( ! is_array( $posted ) ) {
			return null;
		}
		foreach ( array( 'title', 'body', 'severity', 'category' ) as $name ) {
			if ( ! is_string( $posted[ $name ] ?? null ) ) {
				return null;
			}
		}
		return array(
			'on'    => isset( $posted['on'] ),
			'texts' => array(
				'title'    => $posted['title'],
				'body'     => str_replace( "\r\n", "\n", $posted['body'] ),
				'severity' => $posted['severity'],
				'category' => $posted['category'],
			),
		);
	}

	/**
	 * Prints one template.
	 *
	 * @param Tocsin_Template $template The template.
	 */
	public function render( Tocsin_Template $template ): void {
		$key        = self::key( $template );
		$texts      = $this->settings->texts( $template->id() );
		$is_changed = array() !== array_diff_assoc( $template->default_texts(), $texts );
		printf( '<fieldset class="tocsin-template" data-search="%s">', esc_attr( $template->title() . ' ' . $template->description() . ' ' . $template->hook_name() ) );
		echo '<legend class="screen-reader-text">' . esc_html( $template->title() ) . '</legend>';
		printf(
			'<input type="checkbox" role="switch" class="tocsin-switch" id="%1$s-on" name="templates[%1$s][on]" value="1" aria-describedby="%1$s-about"%2$s>',
			esc_attr( $key ),
			checked( $this->settings->is_enabled( $template->id() ), true, false )
		);
		printf( '<span class="dashicons %s" aria-hidden="true"></span>', esc_attr( self::dashicon( $template->icon() ) ) );
		echo '<div>';
		printf( '<label class="tocsin-title" for="%s-on">%s</label>', esc_attr( $key ), esc_html( $template->title() ) );
		if ( $is_changed ) {
			echo '<span class="tocsin-changed">' . esc_html__( 'Text changed', 'tocsin' ) . '</span>';
		}
		printf( '<p id="%s-about">%s</p>', esc_attr( $key ), esc_html( $template->description() ) );
		echo '<p class="tocsin-hook">';
		printf(
			'filter' === $template->type()
				/* translators: %s: name of a hook. */
				? esc_html__( 'Filter %s', 'tocsin' )
				/* translators: %s: name of a hook. */
				: esc_html__( 'Action %s', 'tocsin' ),
			'<code>' . esc_html( $template->hook_name() ) . '</code>'
		);
		echo '</p>';
		$this->render_details( $template, $key, $texts );
		echo '</div></fieldset>';
	}

	/**
	 * Prints the texts in a collapsed section.
	 *
	 * @param Tocsin_Template       $template The template.
	 * @param string                $key      Name of the template in the form.
	 * @param array<string, string> $texts    Saved texts, or the defaults.
	 */
	private function render_details( Tocsin_Template $template, string $key, array $texts ): void {
		echo '<details><summary>' . esc_html__( 'Text and severity', 'tocsin' ) . '<span class="screen-reader-text">: ' . esc_html( $template->title() ) . '</span></summary>';
		echo '<div class="tocsin-fields">';
		printf(
			'<div class="is-wide"><label for="%1$s-title">%2$s</label><input type="text" id="%1$s-title" name="templates[%1$s][title]" value="%3$s" maxlength="500" aria-describedby="%1$s-placeholders"></div>',
			esc_attr( $key ),
			esc_html__( 'Title', 'tocsin' ),
			esc_attr( $texts['title'] )
		);
		printf(
			'<div class="is-wide"><label for="%1$s-body">%2$s</label><textarea id="%1$s-body" name="templates[%1$s][body]" rows="3" maxlength="4000" aria-describedby="%1$s-placeholders">%3$s</textarea></div>',
			esc_attr( $key ),
			esc_html__( 'Text', 'tocsin' ),
			esc_textarea( $texts['body'] )
		);
		$this->render_placeholders( $template, $key );
		self::render_select( $key, 'severity', __( 'Severity', 'tocsin' ), self::severities(), $texts['severity'] );
		self::render_select( $key, 'category', __( 'Category', 'tocsin' ), self::categories(), $texts['category'] );
		echo '</div><div class="tocsin-actions">';
		printf(
			'<button type="submit" class="button" name="example" value="%s">%s<span class="screen-reader-text">: %s</span></button>',
			esc_attr( $key ),
			esc_html__( 'Save and send an example', 'tocsin' ),
			esc_html( $template->title() )
		);
		printf(
			'<button type="submit" class="button button-link" name="reset" value="%s">%s<span class="screen-reader-text">: %s</span></button>',
			esc_attr( $key ),
			esc_html__( 'Reset to default', 'tocsin' ),
			esc_html( $template->title() )
		);
		echo '</div></details>';
	}

	/**
	 * Prints the available placeholders.
	 *
	 * @param Tocsin_Template $template The template.
	 * @param string          $key      Name of the template in the form.
	 */
	private function render_placeholders( Tocsin_Template $template, string $key ): void {
		printf( '<p class="description is-wide tocsin-placeholders" id="%s-placeholders">%s ', esc_attr( $key ), esc_html__( 'Placeholders:', 'tocsin' ) );
		foreach ( Tocsin_Admin_Example::placeholders( $template ) as $name ) {
			echo '<code>{' . esc_html( $name ) . '}</code> ';
		}
		echo '</p>';
	}

	/**
	 * Prints a select field.
	 *
	 * @param string                $key      Name of the template in the form.
	 * @param string                $name     Name of the field.
	 * @param string                $label    Label of the field.
	 * @param array<string, string> $options  Labels by value.
	 * @param string                $selected The selected value.
	 */
	private static function render_select( string $key, string $name, string $label, array $options, string $selected ): void {
		printf( '<div><label for="%1$s-%2$s">%3$s</label><select id="%1$s-%2$s" name="templates[%1$s][%2$s]">', esc_attr( $key ), esc_attr( $name ), esc_html( $label ) );
		foreach ( $options as $value => $text ) {
			printf( '<option value="%s"%s>%s</option>', esc_attr( (string) $value ), selected( $selected, (string) $value, false ), esc_html( $text ) );
		}
		echo '</select></div>';
	}

	/**
	 * Sanitizes the class name of a dashicon.
	 *
	 * @param string $icon Icon of the template.
	 */
	private static function dashicon( string $icon ): string {
		$class = sanitize_html_class( (string) preg_replace( '/^dashicons\s+/', '', $icon ) );
		if ( '' === $class ) {
			return 'dashicons-bell';
		}
		return 0 === strpos( $class, 'dashicons-' ) ? $class : 'dashicons-' . $class;
	}

	/**
	 * Returns the labels of the severities.
	 *
	 * @return array<string, string>
	 */
	private static function severities(): array {
		return array(
			''         => __( 'None', 'tocsin' ),
			'info'     => __( 'Info', 'tocsin' ),
			'warning'  => __( 'Warning', 'tocsin' ),
			'error'    => __( 'Error', 'tocsin' ),
			'critical' => __( 'Critical', 'tocsin' ),
		);
	}

	/**
	 * Returns the labels of the categories.
	 *
	 * @return array<string, string>
	 */
	private static function categories(): array {
		return array(
			'info'  => __( 'Information', 'tocsin' ),
			'task'  => __( 'Task', 'tocsin' ),
			'promo' => __( 'Promotion', 'tocsin' ),
		);
	}
}
