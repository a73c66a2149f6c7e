<?php
/**
 * Loads a real WordPress once, with the companion active, in the site created by test/phpunit.test.ts. It is loaded with
 * auto_prepend_file, because WordPress keeps its state in globals, and PHPUnit loads a bootstrap file inside a function.
 */

if ( ! is_dir( (string) getenv( 'WORDPRESS_SITE' ) ) ) {
	fwrite( STDERR, "These tests require a site. Run them with: npm test -- phpunit\n" );
	exit( 1 );
}
$_SERVER['HTTP_HOST']      = getenv( 'WORDPRESS_HOST' );
$_SERVER['REQUEST_URI']    = '/';
$_SERVER['REQUEST_METHOD'] = 'GET';
$_SERVER['REMOTE_ADDR']    = '127.0.0.1';

require getenv( 'WORDPRESS_TREE' ) . '/wp-load.php';
