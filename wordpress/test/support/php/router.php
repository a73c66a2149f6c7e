<?php
/**
 * Replaces the rewrite rules of a web server: `php -S … router.php`. The core files of WordPress are shared by all test
 * sites; each has its own wp-content. In a network, the path of a site precedes the path of the file.
 */

$path = rawurldecode( parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH ) ?? '/' );
$path = preg_replace( '~^/[_0-9a-zA-Z-]+(/wp-(?:admin|includes|content)/|/wp-[a-z-]+\.php$)~', '$1', $path );
if ( '/wp-admin' === $path ) {
	header( 'Location: /wp-admin/' );
	return true;
}
$own  = 0 === strpos( $path, '/wp-content/' );
$file = realpath( ( $own ? getenv( 'WORDPRESS_SITE' ) : getenv( 'WORDPRESS_TREE' ) ) . $path );
if ( is_string( $file ) && is_dir( $file ) ) {
	$file = realpath( $file . '/index.php' );
}
if ( ! is_string( $file ) ) {
	$file = getenv( 'WORDPRESS_TREE' ) . '/index.php';
	$path = '/index.php';
}
if ( '.php' === substr( $file, -4 ) ) {
	$script                     = '/' === substr( $path, -1 ) ? $path . 'index.php' : $path;
	$_SERVER['SCRIPT_FILENAME'] = $file;
	$_SERVER['SCRIPT_NAME']     = $script;
	$_SERVER['PHP_SELF']        = $script;
	chdir( dirname( $file ) );
	require $file;
	return true;
}
$types = array(
	'css'   => 'text/css',
	'js'    => 'text/javascript',
	'svg'   => 'image/svg+xml',
	'png'   => 'image/png',
	'woff2' => 'font/woff2',
);
header( 'Content-Type: ' . ( $types[ pathinfo( $file, PATHINFO_EXTENSION ) ] ?? 'application/octet-stream' ) );
// Lets a browser cache the scripts of wp-admin between pages.
header( 'Cache-Control: max-age=600' );
readfile( $file );
return true;
