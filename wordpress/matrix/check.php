<?php
/**
 * Short contract test for PHP versions that cannot run the test suites. Writes its results to matrix.json in the folder
 * of the site and sends events to the gateway.
 */

$_SERVER['HTTP_HOST']      = getenv( 'WORDPRESS_HOST' );
$_SERVER['REQUEST_URI']    = '/';
$_SERVER['REQUEST_METHOD'] = 'GET';
$_SERVER['REMOTE_ADDR']    = '127.0.0.1';

$found = array(
	'unparsed' => array(),
	'files'    => 0,
);
$files = new RecursiveIteratorIterator( new RecursiveDirectoryIterator( getenv( 'WORDPRESS_SITE' ) . '/wp-content/plugins/tocsin', FilesystemIterator::SKIP_DOTS ) );
foreach ( $files as $file ) {
	if ( 'php' === $file->getExtension() ) {
		++$found['files'];
		try {
			token_get_all( file_get_contents( $file->getPathname() ), TOKEN_PARSE );
		} catch ( ParseError $problem ) {
			$found['unparsed'][] = $file->getFilename() . ': ' . $problem->getMessage();
		}
	}
}

require getenv( 'WORDPRESS_TREE' ) . '/wp-load.php';

$found['versions'] = require __DIR__ . '/versions.php';
foreach ( array( 'action', 'filter' ) as $kind ) {
	$found['registered'][] = tocsin_register_template(
		array(
			'title'         => 'Matrix ' . $kind,
			'hook_name'     => 'matrix_' . $kind,
			'message_title' => 'Matrix ' . $kind . ' {thing.title}',
			'enabled'       => true,
			'hook_meta'     => array(
				'type'          => $kind,
				'arg_names'     => array( 'thing', 'more' ),
				'payload_arity' => 2,
			),
		)
	);
}
$post = get_post( 1 );
do_action( 'matrix_action', $post );
$found['unchanged'] = apply_filters( 'matrix_filter', $post, 'context' ) === $post;

$companion          = Tocsin_Companion::get_instance();
$found['monitoring'] = $companion->send_monitoring_check();
$found['error']      = $companion->last_error();
$companion->queue()->flush();
$companion->runner()->run();
$found['counts'] = $companion->queue()->counts();
file_put_contents( getenv( 'WORDPRESS_SITE' ) . '/matrix.json', wp_json_encode( $found ) );
