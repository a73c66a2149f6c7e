<?php
/**
 * Removes all data when the plugin is deleted.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

require_once __DIR__ . '/includes/class-tocsin-install.php';
Tocsin_Install::uninstall();
