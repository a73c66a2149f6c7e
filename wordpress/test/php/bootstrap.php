<?php
/**
 * Boots real WordPress once, with the companion switched on, in the site that test/phpunit.test.ts made. It is put before
 * PHPUnit with auto_prepend_file, because WordPress keeps its state in globals, and PHPUnit loads a bootstrap file inside a
 * function.
 */

if ( ! is_dir( (string) getenv( 'WORDPRESS_SITE' ) ) ) {
	fwrite( STDERR, "These tests need a site to run in. Run them with: npm test -- phpunit\n" );
	exit( 1 );
}
$_SERVER['HTTP_HOST']      = getenv( 'WORDPRESS_HOST' );
$_SERVER['REQUEST_URI']    = '/';
$_SERVER['REQUEST_METHOD'] = 'GET';
$_SERVER['REMOTE_ADDR']    = '127.0.0.1';

require getenv( 'WORDPRESS_TREE' ) . '/wp-load.php';
