<?php
/**
 * Installs WordPress into the folder and the database of a test site: `php install.php single|network`.
 */

define( 'WP_INSTALLING', true );
$_SERVER['HTTP_HOST']   = getenv( 'WORDPRESS_HOST' );
$_SERVER['REQUEST_URI'] = '/';

/** Replaces the function of WordPress that sends an email about the new site. */
function wp_new_blog_notification() {}

require getenv( 'WORDPRESS_TREE' ) . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install( 'A test site', 'admin', 'admin@example.com', true, '', 'password' );
update_option( 'permalink_structure', '/%postname%/' );
update_option( 'show_avatars', 0 );
update_option( 'siteurl', 'http://' . getenv( 'WORDPRESS_HOST' ) );
update_option( 'home', 'http://' . getenv( 'WORDPRESS_HOST' ) );

if ( 'network' === $argv[1] ) {
	foreach ( $wpdb->tables( 'ms_global' ) as $name => $table ) {
		$wpdb->$name = $table;
	}
	install_network();
	$result = populate_network( 1, getenv( 'WORDPRESS_HOST' ), 'admin@example.com', 'A test network', '/', false );
	// The warning about unreachable subdomains is irrelevant for a network with subdirectories.
	if ( is_wp_error( $result ) && 'no_wildcard_dns' !== $result->get_error_code() ) {
		fwrite( STDERR, $result->get_error_message() );
		exit( 1 );
	}
}
