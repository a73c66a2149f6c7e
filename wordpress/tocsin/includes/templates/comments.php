<?php
/**
 * Templates about comments.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

// Only comments of visitors: other plugins store internal notes as comments, such as WooCommerce its order notes.
$tocsin_is_comment_with_status = static function ( string $approved ): callable {
	return static function ( array $named ) use ( $approved ): bool {
		$comment = $named['comment'] ?? null;
		return $comment instanceof WP_Comment
			&& $approved === (string) $comment->comment_approved
			&& in_array( $comment->comment_type, array( '', 'comment', 'review', 'pingback', 'trackback' ), true );
	};
};

$tocsin_comment_hook = array(
	'label'         => __( 'Comment inserted', 'tocsin' ),
	'type'          => 'action',
	'arg_names'     => array( 'comment_id', 'comment' ),
	'payload_arity' => 2,
);

return array(
	array(
		'id'            => 'comment_new',
		'icon'          => 'dashicons-admin-comments',
		'title'         => __( 'New comment', 'tocsin' ),
		'description'   => __( 'A comment is published without moderation.', 'tocsin' ),
		'scenario_name' => __( 'Comments', 'tocsin' ),
		'hook_name'     => 'wp_insert_comment',
		'hook_meta'     => $tocsin_comment_hook,
		'message_title' => __( '{comment.author} commented on {comment.post}', 'tocsin' ),
		'message_body'  => "{comment.text}\n{comment.link}",
		'severity'      => 'info',
		'condition'     => $tocsin_is_comment_with_status( '1' ),
	),
	array(
		'id'            => 'comment_pending',
		'icon'          => 'dashicons-format-status',
		'title'         => __( 'Comment pending moderation', 'tocsin' ),
		'description'   => __( 'A comment must be approved before it is published. Spam is ignored.', 'tocsin' ),
		'scenario_name' => __( 'Comments', 'tocsin' ),
		'hook_name'     => 'wp_insert_comment',
		'hook_meta'     => $tocsin_comment_hook,
		'message_title' => __( 'Please moderate: {comment.author} on {comment.post}', 'tocsin' ),
		'message_body'  => '{comment.text}',
		'category'      => 'task',
		'severity'      => 'info',
		'condition'     => $tocsin_is_comment_with_status( '0' ),
	),
);
