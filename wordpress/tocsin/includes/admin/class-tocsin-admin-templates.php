<?php
/**
 * The screen "Templates".
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Enables templates and edits their texts.
 */
final class Tocsin_Admin_Templates implements Tocsin_Admin_Screen {

	const SAVE = 'tocsin_save_templates';

	/**
	 * The plugin's services.
	 *
	 * @var Tocsin_Companion
	 */
	private Tocsin_Companion $companion;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Companion $companion The plugin's services.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->companion = $companion;
	}

	/**
	 * Name of the screen in menu and heading.
	 */
	public function name(): string {
		return __( 'Templates', 'tocsin' );
	}

	/**
	 * Does nothing: the screen has no options.
	 */
	public function load(): void {
	}

	/**
	 * Handler of the form. One form contains all templates; its buttons select an additional action.
	 *
	 * @return array<string, callable(): void>
	 */
	public function actions(): array {
		return array( self::SAVE => array( $this, 'save' ) );
	}

	/**
	 * Prints the screen.
	 */
	public function render(): void {
		$groups = $this->by_scenario();
		echo '<p class="tocsin-intro">' . esc_html__( 'Enable the notifications you want. You can edit the text of each.', 'tocsin' ) . '</p>';
		if ( array() === $groups ) {
			Tocsin_Admin_Notices::show( 'info', __( 'There are no templates yet.', 'tocsin' ), array( __( 'Plugins register templates with tocsin_register_template().', 'tocsin' ) ), false );
			$this->render_hidden_count();
			return;
		}
		Tocsin_Admin::open_form( self::SAVE, 'tocsin-templates' );
		printf(
			'<div class="tocsin-toolbar" data-find="%s" data-insert="%s" data-no-match="%s">',
			esc_attr__( 'Find a template', 'tocsin' ),
			/* translators: %s: a placeholder such as {site_name}. */
			esc_attr__( 'Insert %s', 'tocsin' ),
			esc_attr__( 'No template matches.', 'tocsin' )
		);
		// The Enter key activates the first button of a form.
		submit_button( __( 'Save changes', 'tocsin' ), 'primary', 'tocsin-save-top', false );
		echo '</div>';
		$field = new Tocsin_Admin_Template_Fields( $this->companion->template_settings() );
		foreach ( $groups as $scenario => $templates ) {
			$id = 'tocsin-scenario-' . substr( md5( (string) $scenario ), 0, 8 );
			printf( '<section class="tocsin-scenario" aria-labelledby="%s" data-name="%s">', esc_attr( $id ), esc_attr( (string) $scenario ) );
			printf( '<h2 id="%s">%s</h2>', esc_attr( $id ), esc_html( (string) $scenario ) );
			echo '<div class="tocsin-list">';
			foreach ( $templates as $template ) {
				$field->render( $template );
			}
			echo '</div></section>';
		}
		$this->render_hidden_count();
		submit_button( __( 'Save changes', 'tocsin' ), 'primary', 'tocsin-save' );
		echo '</form>';
	}

	/**
	 * Saves the templates in the form. Templates of inactive plugins are not changed.
	 */
	public function save(): void {
		// phpcs:disable WordPress.Security.NonceVerification.Missing -- Tocsin_Admin has checked the nonce.
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput.InputNotSanitized -- Each field is sanitized by Tocsin_Admin_Template_Fields.
		$posted  = isset( $_POST['templates'] ) && is_array( $_POST['templates'] ) ? wp_unslash( $_POST['templates'] ) : array();
		$reset   = isset( $_POST['reset'] ) && is_string( $_POST['reset'] ) ? sanitize_key( $_POST['reset'] ) : '';
		$example = isset( $_POST['example'] ) && is_string( $_POST['example'] ) ? sanitize_key( $_POST['example'] ) : '';
		// phpcs:enable
		$skipped = 0;
		foreach ( $this->companion->templates()->visible() as $template ) {
			$key    = Tocsin_Admin_Template_Fields::key( $template );
			$values = Tocsin_Admin_Template_Fields::values( $posted[ $key ] ?? null );
			if ( null === $values ) {
				++$skipped;
				continue;
			}
			$this->save_if_changed( $template, $values['on'], $key === $reset ? $template->default_texts() : $values['texts'] );
			if ( $key === $reset ) {
				/* translators: %s: title of a template. */
				Tocsin_Admin_Notices::add( 'success', sprintf( __( '"%s" was reset to its default text.', 'tocsin' ), $template->title() ) );
			}
			if ( $key === $example ) {
				$this->send_example( $template );
			}
		}
		if ( '' === $reset && '' === $example ) {
			Tocsin_Admin_Notices::add( 'success', __( 'Templates saved.', 'tocsin' ) );
		}
		if ( $skipped > 0 ) {
			Tocsin_Admin_Notices::add(
				'warning',
				/* translators: %d: number of templates. */
				sprintf( _n( '%d template was missing from the form and was not changed.', '%d templates were missing from the form and were not changed.', $skipped, 'tocsin' ), $skipped ),
				array( __( 'If this happens again, increase max_input_vars in the PHP configuration.', 'tocsin' ) )
			);
		}
	}

	/**
	 * Saves a template if its settings have changed.
	 *
	 * @param Tocsin_Template       $template   The template.
	 * @param bool                  $is_enabled Whether it is enabled.
	 * @param array<string, string> $texts      Its texts.
	 */
	private function save_if_changed( Tocsin_Template $template, bool $is_enabled, array $texts ): void {
		$settings = $this->companion->template_settings();
		if ( $is_enabled !== $settings->is_enabled( $template->id() ) || array() !== array_diff_assoc( $texts, $settings->texts( $template->id() ) ) ) {
			$settings->save( $template->id(), $is_enabled, $texts );
		}
	}

	/**
	 * Queues an example event.
	 *
	 * @param Tocsin_Template $template The template.
	 */
	private function send_example( Tocsin_Template $template ): void {
		$this->companion->queue()->add( Tocsin_Admin_Example::event( $template, $this->companion->template_settings()->texts( $template->id() ) ) );
		Tocsin_Admin_Notices::add(
			'success',
			/* translators: %s: title of a template. */
			sprintf( __( 'Saved. An example of "%s" is being sent.', 'tocsin' ), $template->title() ),
			array( __( 'It is queued like a real event. The log shows its status.', 'tocsin' ) )
		);
	}

	/**
	 * Returns the visible templates by scenario, in the order of registration.
	 *
	 * @return array<string, Tocsin_Template[]>
	 */
	private function by_scenario(): array {
		$groups = array();
		foreach ( $this->companion->templates()->visible() as $template ) {
			$scenario              = '' === $template->scenario_name() ? __( 'Other', 'tocsin' ) : $template->scenario_name();
			$groups[ $scenario ][] = $template;
		}
		return $groups;
	}

	/**
	 * Prints the number of hidden templates by required plugin.
	 */
	private function render_hidden_count(): void {
		$templates = $this->companion->templates();
		$counts    = array();
		foreach ( array_diff_key( $templates->all(), $templates->visible() ) as $template ) {
			$plugin            = $template->required_plugin();
			$counts[ $plugin ] = ( $counts[ $plugin ] ?? 0 ) + 1;
		}
		if ( array() === $counts ) {
			return;
		}
		ksort( $counts );
		$parts = array();
		foreach ( $counts as $plugin => $count ) {
			/* translators: 1: slug of a plugin, 2: number of templates. */
			$parts[] = sprintf( __( '%1$s (%2$d)', 'tocsin' ), $plugin, $count );
		}
		$total = array_sum( $counts );
		echo '<p class="description">' . esc_html(
			sprintf(
				/* translators: 1: number of templates, 2: list of plugins with the number of templates for each. */
				_n( '%1$d more template is shown when its plugin is active: %2$s.', '%1$d more templates are shown when their plugins are active: %2$s.', $total, 'tocsin' ),
				$total,
				implode( ', ', $parts )
			)
		) . '</p>';
	}
}
