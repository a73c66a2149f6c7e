<?php
/**
 * Runs PHP from standard input inside WordPress and writes its result to file descriptor 3 as JSON. Shutdown hooks run
 * afterwards, as for a page.
 */

$_SERVER['HTTP_HOST']       = getenv( 'WORDPRESS_HOST' );
$_SERVER['REQUEST_URI']     = getenv( 'WORDPRESS_PATH' );
$_SERVER['REQUEST_METHOD']  = 'GET';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
$_SERVER['REMOTE_ADDR']     = '127.0.0.1';
require getenv( 'WORDPRESS_TREE' ) . '/wp-load.php';

$tocsin_test_code = stream_get_contents( STDIN );
file_put_contents(
	'php://fd/3',
	json_encode(
		( static function () use ( $tocsin_test_code ) {
			return eval( $tocsin_test_code );
		} )(),
		JSON_UNESCAPED_UNICODE | JSON_PARTIAL_OUTPUT_ON_ERROR
	)
);
