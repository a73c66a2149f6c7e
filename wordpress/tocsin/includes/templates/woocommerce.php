<?php
/**
 * Templates about a WooCommerce shop.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

$tocsin_order_hook = static function ( string $label ): array {
	return array(
		'label'         => $label,
		'type'          => 'action',
		'arg_names'     => array( 'order_id', 'order' ),
		'payload_arity' => 2,
	);
};

$tocsin_stock_hook = array(
	'label'         => __( 'Stock reduced', 'tocsin' ),
	'type'          => 'action',
	'arg_names'     => array( 'product' ),
	'payload_arity' => 1,
);

$tocsin_find_order = static fn( $id ) => function_exists( 'wc_get_order' ) ? wc_get_order( $id ) : null;

return array(
	array(
		'id'              => 'woocommerce_new_order',
		'icon'            => 'dashicons-cart',
		'title'           => __( 'New order', 'tocsin' ),
		'description'     => __( 'A customer placed an order: it is paid, or awaits payment by bank transfer or on delivery.', 'tocsin' ),
		'scenario_name'   => 'WooCommerce',
		'required_plugin' => 'woocommerce',
		'hook_name'       => 'woocommerce_order_status_changed',
		'hook_meta'       => array(
			'label'         => __( 'Order status changed', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'order_id', 'old_status', 'new_status', 'order' ),
			'payload_arity' => 4,
		),
		'message_title'   => __( 'New order {order.number}: {order.total} {order.currency}', 'tocsin' ),
		'message_body'    => __( "{order.customer}\n{order.items}\nPayment: {order.payment}\n{order.link}", 'tocsin' ),
		'severity'        => 'info',
		'category'        => 'task',
		// The same status changes for which WooCommerce sends its email "New order".
		'condition'       => static fn( array $named ) =>
			in_array( $named['old_status'] ?? '', array( 'pending', 'failed', 'cancelled', 'checkout-draft' ), true )
			&& in_array( $named['new_status'] ?? '', array( 'processing', 'completed', 'on-hold' ), true ),
	),
	array(
		'id'              => 'woocommerce_failed_order',
		'icon'            => 'dashicons-warning',
		'title'           => __( 'Order failed', 'tocsin' ),
		'description'     => __( 'The payment of an order failed or was declined.', 'tocsin' ),
		'scenario_name'   => 'WooCommerce',
		'required_plugin' => 'woocommerce',
		'hook_name'       => 'woocommerce_order_status_failed',
		'hook_meta'       => $tocsin_order_hook( __( 'Order failed', 'tocsin' ) ),
		'message_title'   => __( 'Order {order.number} failed: {order.total} {order.currency}', 'tocsin' ),
		'message_body'    => __( "{order.customer}\nPayment: {order.payment}\n{order.link}", 'tocsin' ),
		'severity'        => 'error',
		'category'        => 'task',
	),
	array(
		'id'              => 'woocommerce_cancelled_order',
		'icon'            => 'dashicons-dismiss',
		'title'           => __( 'Order cancelled', 'tocsin' ),
		'description'     => __( 'An order is cancelled by the customer, by the shop, or because it was not paid in time.', 'tocsin' ),
		'scenario_name'   => 'WooCommerce',
		'required_plugin' => 'woocommerce',
		'hook_name'       => 'woocommerce_order_status_cancelled',
		'hook_meta'       => $tocsin_order_hook( __( 'Order cancelled', 'tocsin' ) ),
		'message_title'   => __( 'Order {order.number} cancelled: {order.total} {order.currency}', 'tocsin' ),
		'message_body'    => "{order.customer}\n{order.link}",
		'severity'        => 'warning',
	),
	array(
		'id'              => 'woocommerce_refund',
		'icon'            => 'dashicons-undo',
		'title'           => __( 'Order refunded', 'tocsin' ),
		'description'     => __( 'An order is refunded in full or in part.', 'tocsin' ),
		'scenario_name'   => 'WooCommerce',
		'required_plugin' => 'woocommerce',
		'hook_name'       => 'woocommerce_order_refunded',
		'hook_meta'       => array(
			'label'         => __( 'Order refunded', 'tocsin' ),
			'type'          => 'action',
			'arg_names'     => array( 'order', 'refund' ),
			'payload_arity' => 2,
		),
		'message_title'   => __( 'Refund for order {order.number}: {refund.amount} {order.currency}', 'tocsin' ),
		'message_body'    => __( "{order.customer}\nReason: {refund.reason}\n{order.link}", 'tocsin' ),
		'severity'        => 'warning',
		'map'             => static fn( array $args ) => array(
			'order'  => $tocsin_find_order( $args[0] ?? 0 ),
			'refund' => $tocsin_find_order( $args[1] ?? 0 ),
		),
	),
	array(
		'id'              => 'woocommerce_low_stock',
		'icon'            => 'dashicons-arrow-down-alt',
		'title'           => __( 'Low stock', 'tocsin' ),
		'description'     => __( 'The stock of a product falls to its low stock threshold.', 'tocsin' ),
		'scenario_name'   => 'WooCommerce',
		'required_plugin' => 'woocommerce',
		'hook_name'       => 'woocommerce_low_stock',
		'hook_meta'       => $tocsin_stock_hook,
		'message_title'   => __( 'Low stock: {product.name}', 'tocsin' ),
		'message_body'    => __( "{product.stock} left\nSKU: {product.sku}\n{product.link}", 'tocsin' ),
		'severity'        => 'warning',
		'category'        => 'task',
	),
	array(
		'id'              => 'woocommerce_no_stock',
		'icon'            => 'dashicons-no',
		'title'           => __( 'Out of stock', 'tocsin' ),
		'description'     => __( 'A product is sold out.', 'tocsin' ),
		'scenario_name'   => 'WooCommerce',
		'required_plugin' => 'woocommerce',
		'hook_name'       => 'woocommerce_no_stock',
		'hook_meta'       => $tocsin_stock_hook,
		'message_title'   => __( 'Sold out: {product.name}', 'tocsin' ),
		'message_body'    => __( "SKU: {product.sku}\n{product.link}", 'tocsin' ),
		'severity'        => 'error',
		'category'        => 'task',
	),
);
