<?php
/**
 * Templates about users.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

return array(
	array(
		'id'            => 'user_registered',
		'icon'          => 'dashicons-admin-users',
		'title'         => __( 'User registered', 'tocsin' ),
		'description'   => __( 'A user account is created, by the user or by an administrator.', 'tocsin' ),
		'scenario_name' => __( 'Users and security', 'tocsin' ),
		'hook_name'     => 'user_register',
		'hook_meta'     => array(
			'label'         => __( 'User registered', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'user' ),
			'payload_arity' => 1,
		),
		'message_title' => __( 'New user: {user.name}', 'tocsin' ),
		'message_body'  => __( "{user.login} ({user.email})\nRole: {user.roles}", 'tocsin' ),
		'severity'      => 'info',
		'map'           => static fn( array $args ) => array( 'user' => get_userdata( (int) ( $args[0] ?? 0 ) ) ),
	),
	array(
		'id'            => 'administrator_login',
		'icon'          => 'dashicons-shield',
		'title'         => __( 'Administrator logged in', 'tocsin' ),
		'description'   => __( 'A user with full control of this site logs in.', 'tocsin' ),
		'scenario_name' => __( 'Users and security', 'tocsin' ),
		'hook_name'     => 'wp_login',
		'hook_meta'     => array(
			'label'         => __( 'User logged in', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'login', 'user', 'address' ),
			'payload_arity' => 2,
		),
		'message_title' => __( 'Administrator {user.name} logged in', 'tocsin' ),
		'message_body'  => __( "User: {user.login}\nFrom: {address}", 'tocsin' ),
		'severity'      => 'warning',
		'map'           => static fn( array $args ) => array(
			'user'    => $args[1] ?? null,
			'address' => Tocsin_Built_In_Templates::visitor_address(),
		),
		'condition'     => static fn( array $named ) => $named['user'] instanceof WP_User && user_can( $named['user'], 'manage_options' ),
	),
	array(
		'id'            => 'failed_logins',
		'icon'          => 'dashicons-lock',
		'title'         => __( 'Many failed logins', 'tocsin' ),
		'description'   => __( 'Ten logins fail within ten minutes. Sent at most once an hour.', 'tocsin' ),
		'scenario_name' => __( 'Users and security', 'tocsin' ),
		'hook_name'     => 'wp_login_failed',
		'hook_meta'     => array(
			'label'         => __( 'Login failed', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'login', 'address', 'count' ),
			'payload_arity' => 1,
		),
		'message_title' => __( '{count} failed logins within ten minutes', 'tocsin' ),
		'message_body'  => __( "Last user name: {login}\nFrom: {address}", 'tocsin' ),
		'severity'      => 'error',
		'map'           => static fn( array $args ) => array(
			'login'   => Tocsin_Failed_Logins::existing_user( $args[0] ?? '' ),
			'address' => Tocsin_Built_In_Templates::visitor_address(),
			'count'   => Tocsin_Failed_Logins::increment(),
		),
		'condition'     => static fn( array $named ) => Tocsin_Failed_Logins::should_notify( $named['count'] ),
	),
	array(
		'id'            => 'role_changed',
		'icon'          => 'dashicons-groups',
		'title'         => __( 'Role changed', 'tocsin' ),
		'description'   => __( 'The role of a user is changed.', 'tocsin' ),
		'scenario_name' => __( 'Users and security', 'tocsin' ),
		'hook_name'     => 'set_user_role',
		'hook_meta'     => array(
			'label'         => __( 'Role set', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'user', 'role', 'old_roles' ),
			'payload_arity' => 3,
		),
		'message_title' => __( '{user.name} is now {role}', 'tocsin' ),
		'message_body'  => __( "User: {user.login}\nPrevious role: {old_roles}", 'tocsin' ),
		'severity'      => 'warning',
		'map'           => static fn( array $args ) => array(
			'user'      => get_userdata( (int) ( $args[0] ?? 0 ) ),
			'role'      => $args[1] ?? '',
			'old_roles' => array_values( (array) ( $args[2] ?? array() ) ),
		),
		// The first role of a new user, and the same role set again when a profile is saved, are no changes.
		'condition'     => static fn( array $named ) => array() !== $named['old_roles'] && array( $named['role'] ) !== $named['old_roles'],
	),
	array(
		'id'            => 'password_reset',
		'icon'          => 'dashicons-admin-network',
		'title'         => __( 'Password reset', 'tocsin' ),
		'description'   => __( 'A user sets a new password through "Lost your password?".', 'tocsin' ),
		'scenario_name' => __( 'Users and security', 'tocsin' ),
		'hook_name'     => 'after_password_reset',
		'hook_meta'     => array(
			'label'         => __( 'Password reset', 'tocsin' ),
			'type'          => 'action',
			// The second argument of the hook is the new password and is not requested.
			'arg_names'     => array( 'user' ),
			'payload_arity' => 1,
		),
		'message_title' => __( '{user.name} reset their password', 'tocsin' ),
		'message_body'  => __( 'User: {user.login}', 'tocsin' ),
		'severity'      => 'warning',
	),
);
