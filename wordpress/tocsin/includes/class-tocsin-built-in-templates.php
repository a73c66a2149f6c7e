<?php
/**
 * Built-in templates.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Registers the built-in templates and provides their helper functions.
 */
final class Tocsin_Built_In_Templates {
	const FILES           = array( 'posts', 'comments', 'users', 'site', 'woocommerce', 'forms' );
	const CRITICAL_ISSUES = 'tocsin_critical_issues';

	/**
	 * Registers the hooks. The built-in templates come first in the list.
	 */
	public function register(): void {
		add_action( 'tocsin_register_templates', array( $this, 'register_templates' ), 0 );
		add_filter( 'tocsin_active_plugin_identifiers', array( $this, 'add_plugin_aliases' ), 0 );
	}

	/**
	 * Registers the templates of all files in the folder templates.
	 */
	public function register_templates(): void {
		foreach ( self::FILES as $file ) {
			foreach ( require __DIR__ . '/templates/' . $file . '.php' as $template ) {
				tocsin_register_template( $template );
			}
		}
	}

	/**
	 * Adds the slug of WPForms if its free edition is active, which has another slug and the same hooks.
	 *
	 * @param mixed $slugs Slugs of active plugins.
	 * @return mixed
	 */
	public function add_plugin_aliases( $slugs ) {
		return is_array( $slugs ) && in_array( 'wpforms-lite', $slugs, true ) ? array_merge( $slugs, array( 'wpforms' ) ) : $slugs;
	}

	/**
	 * Returns the IP address of the visitor. Forwarding headers are ignored, because a visitor can forge them.
	 */
	public static function visitor_address(): string {
		$address = isset( $_SERVER['REMOTE_ADDR'] ) ? sanitize_text_field( wp_unslash( $_SERVER['REMOTE_ADDR'] ) ) : '';
		return (string) filter_var( $address, FILTER_VALIDATE_IP );
	}

	/**
	 * Returns the name of a plugin and of the current user.
	 *
	 * @param mixed $file The plugin's file, relative to the plugins folder.
	 */
	public static function plugin_fields( $file ): array {
		return array(
			'plugin' => self::plugin_name( (string) $file ),
			'by'     => wp_get_current_user()->display_name ?? '',
		);
	}

	/**
	 * Returns the name in a plugin's header, or its file if there is none.
	 *
	 * @param string $file The plugin's file, relative to the plugins folder.
	 */
	public static function plugin_name( string $file ): string {
		$path = WP_PLUGIN_DIR . '/' . $file;
		$name = 0 === validate_file( $file ) && is_readable( $path ) && is_file( $path ) ? get_file_data( $path, array( 'name' => 'Plugin Name' ) )['name'] : '';
		return '' === $name ? $file : $name;
	}

	/**
	 * Whether there are more critical issues than at the previous check.
	 *
	 * @param int $critical Current number of critical issues.
	 */
	public static function has_more_critical_issues( int $critical ): bool {
		$before = (int) get_option( self::CRITICAL_ISSUES, 0 );
		if ( $before !== $critical ) {
			update_option( self::CRITICAL_ISSUES, $critical, false );
		}
		return $critical > $before;
	}

	/**
	 * Returns error, recipients and subject of an email that could not be sent. Its text is omitted: it may contain a password reset link.
	 *
	 * @param mixed $error The WP_Error of wp_mail_failed.
	 */
	public static function failed_email( $error ): array {
		$email = $error instanceof WP_Error ? (array) $error->get_error_data() : array();
		return array(
			'error'   => $error,
			'to'      => array_values( (array) ( $email['to'] ?? array() ) ),
			'subject' => (string) ( $email['subject'] ?? '' ),
		);
	}
}
