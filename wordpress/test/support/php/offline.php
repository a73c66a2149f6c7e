<?php
/**
 * Must-use plugin of every test site. Nothing leaves the machine: requests to other hosts get a stubbed response, and no
 * email is sent. Every request is recorded for the tests.
 */

function tocsin_test_record( $file, array $line ) {
	file_put_contents( getenv( 'WORDPRESS_SITE' ) . '/' . $file, wp_json_encode( $line ) . "\n", FILE_APPEND | LOCK_EX );
}

function tocsin_test_record_request( $url ) {
	$within = 'cli' === PHP_SAPI ? 'command line' : $_SERVER['REQUEST_METHOD'] . ' ' . $_SERVER['REQUEST_URI'];
	tocsin_test_record( 'requests.jsonl', compact( 'url', 'within' ) );
}

add_filter(
	'pre_http_request',
	static function ( $response, $arguments, $url ) {
		tocsin_test_record_request( $url );
		if ( in_array( wp_parse_url( $url, PHP_URL_HOST ), array( '127.0.0.1', 'localhost' ), true ) ) {
			return $response;
		}
		return array(
			'headers'  => array(),
			// No updates are available.
			'body'     => '{"plugins":[],"themes":[],"no_update":[],"translations":[],"offers":[],"upgrade":false}',
			'response' => array(
				'code'    => 200,
				'message' => 'OK',
			),
			'cookies'  => array(),
			'filename' => null,
		);
	},
	1,
	3
);

add_filter(
	'tocsin_loopback_request',
	static function ( $request ) {
		tocsin_test_record_request( $request['url'] );
		return $request;
	},
	1
);

add_filter( 'pre_wp_mail', '__return_true' );

// WordPress 6.2 removes the colon from a host with a port when it creates a site of a network, and then cannot find the site.
add_filter(
	'sanitize_user',
	static function ( $name, $raw ) {
		return getenv( 'WORDPRESS_HOST' ) === $raw ? $raw : $name;
	},
	10,
	2
);
