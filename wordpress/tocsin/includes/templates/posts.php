<?php
/**
 * Templates about posts and pages.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

$tocsin_changes_to = static function ( string $status ): callable {
	return static function ( array $named ) use ( $status ): bool {
		$post = $named['post'] ?? null;
		return $post instanceof WP_Post
			&& $status === $named['new_status']
			&& $status !== $named['old_status']
			&& 'attachment' !== $post->post_type
			&& is_post_type_viewable( $post->post_type );
	};
};

$tocsin_status_hook = array(
	'label'         => __( 'Post status changed', 'tocsin' ),
	'type'          => 'action',
	'arg_names'     => array( 'new_status', 'old_status', 'post' ),
	'payload_arity' => 3,
);

return array(
	array(
		'id'            => 'post_published',
		'icon'          => 'dashicons-admin-post',
		'title'         => __( 'Post published', 'tocsin' ),
		'description'   => __( 'A post, page or other public content is published.', 'tocsin' ),
		'scenario_name' => __( 'Content', 'tocsin' ),
		'hook_name'     => 'transition_post_status',
		'hook_meta'     => $tocsin_status_hook,
		'message_title' => __( 'Published: {post.title}', 'tocsin' ),
		'message_body'  => __( "{post.type} by {post.author}\n{post.link}", 'tocsin' ),
		'severity'      => 'info',
		'condition'     => $tocsin_changes_to( 'publish' ),
	),
	array(
		'id'            => 'post_pending',
		'icon'          => 'dashicons-welcome-write-blog',
		'title'         => __( 'Post pending review', 'tocsin' ),
		'description'   => __( 'An author submits content for review.', 'tocsin' ),
		'scenario_name' => __( 'Content', 'tocsin' ),
		'hook_name'     => 'transition_post_status',
		'hook_meta'     => $tocsin_status_hook,
		'message_title' => __( 'Please review: {post.title}', 'tocsin' ),
		'message_body'  => __( '{post.type} by {post.author}', 'tocsin' ),
		'category'      => 'task',
		'severity'      => 'info',
		'condition'     => $tocsin_changes_to( 'pending' ),
	),
	array(
		'id'            => 'post_trashed',
		'icon'          => 'dashicons-trash',
		'title'         => __( 'Post moved to the trash', 'tocsin' ),
		'description'   => __( 'A post, page or other public content is moved to the trash.', 'tocsin' ),
		'scenario_name' => __( 'Content', 'tocsin' ),
		'hook_name'     => 'transition_post_status',
		'hook_meta'     => $tocsin_status_hook,
		'message_title' => __( 'Moved to the trash: {post.title}', 'tocsin' ),
		'message_body'  => __( '{post.type} by {post.author}', 'tocsin' ),
		'severity'      => 'warning',
		'condition'     => $tocsin_changes_to( 'trash' ),
	),
);
