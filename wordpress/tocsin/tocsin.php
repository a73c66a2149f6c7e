<?php
/**
 * Plugin Name:       Tocsin
 * Description:       Sends events of this site to your phone, email and devices, through your own Tocsin gateway.
 * Version:           0.1.0
 * Requires at least: 6.2
 * Requires PHP:      7.4
 * Author:            The Tocsin authors
 * License:           MIT
 * License URI:       https://opensource.org/license/mit
 * Text Domain:       tocsin
 * Domain Path:       /languages
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

define( 'TOCSIN_VERSION', '0.1.0' );
define( 'TOCSIN_FILE', __FILE__ );

spl_autoload_register(
	static function ( $class_name ) {
		if ( 0 !== strpos( $class_name, 'Tocsin_' ) ) {
			return;
		}
		$file   = 'class-' . strtolower( str_replace( '_', '-', $class_name ) ) . '.php';
		$folder = 0 === strpos( $class_name, 'Tocsin_Admin' ) ? '/includes/admin/' : '/includes/';
		if ( is_readable( __DIR__ . $folder . $file ) ) {
			require_once __DIR__ . $folder . $file;
		}
	}
);

/**
 * Registers a template: a hook to listen to and the notification to send when it fires.
 *
 * Can be called at any time after this plugin is loaded; preferably in the action `tocsin_register_templates`.
 *
 * @param array $template Template fields; see docs/wordpress.md.
 * @return bool False if the template is invalid. With WP_DEBUG the reason is logged.
 */
function tocsin_register_template( $template ) {
	return Tocsin_Companion::get_instance()->templates()->register( $template, __FUNCTION__ );
}

register_activation_hook( __FILE__, array( 'Tocsin_Install', 'activate' ) );
register_deactivation_hook( __FILE__, array( 'Tocsin_Install', 'deactivate' ) );

add_action(
	'plugins_loaded',
	static function () {
		Tocsin_Companion::get_instance()->boot();
	}
);
