<?php
/**
 * The built-in templates.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Registers the templates that come with the companion, and does for them what takes more than a line.
 */
final class Tocsin_Built_In_Templates {
	const FILES  = array( 'posts', 'comments', 'users', 'site', 'woocommerce', 'forms' );
	const CRITICAL_ISSUES = 'tocsin_critical_issues';

	/**
	 * Attaches to the companion's own action, as any other plugin does, but first.
	 */
	public function register(): void {
		add_action( 'tocsin_register_templates', array( $this, 'register_templates' ), 0 );
		add_filter( 'tocsin_active_plugin_identifiers', array( $this, 'add_plugin_aliases' ), 0 );
	}

	/**
	 * Registers every list in the folder templates.
	 */
	public function register_templates(): void {
		foreach ( self::FILES as $file ) {
			foreach ( require __DIR__ . '/templates/' . $file . '.php' as $template ) {
				tocsin_register_template( $template );
			}
		}
	}

	/**
	 * The free edition of WPForms has a folder of its own and the same hooks.
	 *
	 * @param mixed $slugs Slugs of active plugins.
	 * @return mixed
	 */
	public function add_plugin_aliases( $slugs ) {
		return is_array( $slugs ) && in_array( 'wpforms-lite', $slugs, true ) ? array_merge( $slugs, array( 'wpforms' ) ) : $slugs;
	}

	/**
	 * From where a page was asked for. Headers that a visitor can forge do not count.
	 */
	public static function visitor_address(): string {
		$address = isset( $_SERVER['REMOTE_ADDR'] ) ? sanitize_text_field( wp_unslash( $_SERVER['REMOTE_ADDR'] ) ) : '';
		return (string) filter_var( $address, FILTER_VALIDATE_IP );
	}

	/**
	 * A plugin by its name, and who is at work.
	 *
	 * @param mixed $file The plugin's file, below the folder of plugins.
	 */
	public static function plugin_fields( $file ): array {
		return array(
			'plugin' => self::plugin_name( (string) $file ),
			'by'     => wp_get_current_user()->display_name ?? '',
		);
	}

	/**
	 * The name in a plugin's header, or its file where there is none.
	 *
	 * @param string $file The plugin's file, below the folder of plugins.
	 */
	public static function plugin_name( string $file ): string {
		$path = WP_PLUGIN_DIR . '/' . $file;
		$name = 0 === validate_file( $file ) && is_readable( $path ) && is_file( $path ) ? get_file_data( $path, array( 'name' => 'Plugin Name' ) )['name'] : '';
		return '' === $name ? $file : $name;
	}

	/**
	 * Whether there are more critical issues than at the last look.
	 *
	 * @param int $critical How many there are.
	 */
	public static function has_more_critical_issues( int $critical ): bool {
		$before = (int) get_option( self::CRITICAL_ISSUES, 0 );
		if ( $before !== $critical ) {
			update_option( self::CRITICAL_ISSUES, $critical, false );
		}
		return $critical > $before;
	}

	/**
	 * What may be said of an e-mail that was not sent: its text may hold anything, a link that resets a password too.
	 *
	 * @param mixed $error The WP_Error of wp_mail_failed.
	 */
	public static function failed_email( $error ): array {
		$mail = $error instanceof WP_Error ? (array) $error->get_error_data() : array();
		return array(
			'error'   => $error,
			'to'      => array_values( (array) ( $mail['to'] ?? array() ) ),
			'subject' => (string) ( $mail['subject'] ?? '' ),
		);
	}
}
