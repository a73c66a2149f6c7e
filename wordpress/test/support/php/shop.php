<?php
/**
 * Plugin Name: Shop
 *
 * An example plugin with one template for each documented feature.
 */

add_action( 'tocsin_register_templates', function () {
	if ( ! function_exists( 'tocsin_register_template' ) ) {
		return;
	}
	$GLOBALS['shop_registered']['action'] = tocsin_register_template( array(
		'icon' => 'dashicons-cart', 'title' => 'New order', 'hook_name' => 'shop_new_order', 'description' => 'A customer placed an order.',
		'scenario_name' => 'shop', 'required_plugin' => 'shop',
		'hook_meta' => array( 'label' => 'Order placed', 'type' => 'action', 'arg_names' => array( 'order', 'total' ), 'payload_arity' => 2 ),
		'message_title' => 'Order {order} on {site_name}', 'message_body' => 'Worth {total}', 'severity' => 'warning', 'category' => 'task', 'enabled' => true,
	) );
	tocsin_register_template( array(
		'title' => 'Price filtered', 'hook_name' => 'shop_price', 'message_title' => 'Price {value} in {context}', 'enabled' => true,
		'hook_meta' => array( 'type' => 'filter', 'arg_names' => array( 'value', 'context' ), 'payload_arity' => 2 ),
	) );
	tocsin_register_template( array(
		'title' => 'Needs another', 'hook_name' => 'shop_elsewhere', 'required_plugin' => 'another-plugin', 'enabled' => true,
		'hook_meta' => array( 'type' => 'action', 'arg_names' => array(), 'payload_arity' => 0 ),
	) );
	foreach ( array( 'condition', 'map' ) as $field ) {
		tocsin_register_template( array(
			'title' => 'Throws in ' . $field, 'hook_name' => 'shop_throws', 'scenario_name' => $field, 'enabled' => true,
			'hook_meta' => array( 'type' => 'action', 'arg_names' => array( 'thing' ), 'payload_arity' => 1 ),
			$field => function () { throw new Error( 'a bug in the template' ); },
		) );
	}
	tocsin_register_template( array(
		'title' => 'Anything', 'hook_name' => 'shop_anything', 'message_title' => 'Anything {thing}', 'enabled' => true,
		'hook_meta' => array( 'type' => 'action', 'arg_names' => array( 'thing', 'missing' ), 'payload_arity' => 2 ),
	) );
} );
add_action( 'plugins_loaded', function () {
	$GLOBALS['shop_registered']['function'] = tocsin_register_template( array(
		'title' => 'Stock is low', 'hook_name' => 'shop_low_stock', 'enabled' => true, 'message_title' => 'Low: {product}',
		'hook_meta' => array( 'type' => 'action', 'arg_names' => array( 'product' ), 'payload_arity' => 1 ),
	) );
} );
// Fires hooks with problematic arguments, which must not break the page.
add_action( 'wp', function () {
	if ( isset( $_GET['trouble'] ) ) {
		$thing = new ArrayObject( array( 'name' => 'loop' ) );
		$thing['self'] = $thing;
		$list = array();
		$list['list'] = &$list;
		do_action( 'shop_throws', $thing );
		do_action( 'shop_anything', $thing );
		do_action( 'shop_anything', $list );
		do_action( 'shop_anything' );
		do_action( 'shop_anything', function () {}, fopen( 'php://memory', 'r' ) );
		do_action( 'shop_anything', "\xff\xfe broken bytes", NAN );
	}
} );
