<?php
/**
 * Versions of WordPress, PHP and the database of a site.
 */

global $wpdb;
$sqlite = defined( 'DB_ENGINE' ) && 'sqlite' === DB_ENGINE;
return array(
	'wordpress' => get_bloginfo( 'version' ),
	'php'       => PHP_VERSION,
	'database'  => $sqlite
		? 'SQLite ' . ( new PDO( 'sqlite::memory:' ) )->query( 'SELECT sqlite_version()' )->fetchColumn()
		: 'MariaDB ' . preg_replace( '/-.*$/', '', $wpdb->get_var( 'SELECT VERSION()' ) ),
);
