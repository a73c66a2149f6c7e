<?php
/**
 * Fields of objects that hooks pass.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Extracts the relevant fields of known objects, and nothing else.
 *
 * Texts are read as stored, without display filters: those are slow and may have side effects.
 */
final class Tocsin_Object_Fields {
	const MAX_ITEMS = 20;

	/**
	 * Returns the fields of an object.
	 *
	 * @param object $object Any object.
	 * @return array|string|int|null A scalar if the object has a single value; null if its class is unknown.
	 */
	public static function fields( $object ) {
		if ( $object instanceof WP_Post ) {
			return self::post( $object );
		}
		if ( $object instanceof WP_User ) {
			return self::user( $object );
		}
		if ( $object instanceof WP_Comment ) {
			return self::comment( $object );
		}
		if ( $object instanceof WP_Term ) {
			return self::term( $object );
		}
		if ( $object instanceof WP_Error ) {
			return array(
				'code'    => $object->get_error_code(),
				'message' => self::plain_text( implode( "\n", array_slice( array_filter( $object->get_error_messages(), 'is_scalar' ), 0, 5 ) ) ),
			);
		}
		if ( $object instanceof WP_Theme ) {
			return array(
				'name'    => (string) $object->get( 'Name' ),
				'version' => (string) $object->get( 'Version' ),
			);
		}
		if ( $object instanceof DateTimeInterface ) {
			return $object->format( DATE_ATOM );
		}
		if ( $object instanceof Throwable ) {
			return array(
				'code'    => self::class_name( $object ),
				'message' => $object->getMessage(),
			);
		}
		if ( $object instanceof stdClass ) {
			return get_object_vars( $object );
		}
		// Enums exist since PHP 8.1; before that, instanceof is always false.
		if ( $object instanceof BackedEnum ) {
			return $object->value;
		}
		if ( $object instanceof UnitEnum ) {
			return $object->name;
		}
		return self::shop_fields( $object );
	}

	/**
	 * Returns the fields of an order or product. They are recognized by their methods, which other shops copy from WooCommerce.
	 *
	 * @param object $object Any object.
	 */
	private static function shop_fields( $object ): ?array {
		if ( self::has_public_method( $object, 'get_total' ) && self::has_public_method( $object, 'get_status' ) && self::has_public_method( $object, 'get_id' ) ) {
			return self::order( $object );
		}
		if ( self::has_public_method( $object, 'get_sku' ) && self::has_public_method( $object, 'get_name' ) ) {
			return self::call_getters(
				$object,
				array(
					'name'  => 'get_name',
					'id'    => 'get_id',
					'sku'   => 'get_sku',
					'stock' => 'get_stock_quantity',
					'price' => 'get_price',
					'link'  => 'get_permalink',
				)
			);
		}
		return null;
	}

	/**
	 * Returns the fields of a post of any type.
	 *
	 * @param WP_Post $post The post.
	 */
	private static function post( WP_Post $post ): array {
		$author = get_userdata( (int) $post->post_author );
		$type   = get_post_type_object( $post->post_type );
		return array(
			'title'  => '' === $post->post_title ? __( '(no title)', 'tocsin' ) : self::plain_text( $post->post_title ),
			'id'     => $post->ID,
			'type'   => null === $type ? $post->post_type : $type->labels->singular_name,
			'status' => $post->post_status,
			'author' => $author instanceof WP_User ? $author->display_name : '',
			'link'   => self::post_link( $post ),
		);
	}

	/**
	 * Returns the permalink of a post. While a post is being published it may not have a slug yet.
	 *
	 * @param WP_Post $post The post.
	 */
	private static function post_link( WP_Post $post ): string {
		return '' === $post->post_name ? home_url( '/?p=' . $post->ID ) : (string) get_permalink( $post );
	}

	/**
	 * Returns the fields of a user. The email address identifies the user; password hash and activation key are never read.
	 *
	 * @param WP_User $user The user.
	 */
	private static function user( WP_User $user ): array {
		return array(
			'name'  => (string) $user->display_name,
			'id'    => (int) $user->ID,
			'login' => (string) $user->user_login,
			'email' => (string) $user->user_email,
			'roles' => array_values( (array) $user->roles ),
		);
	}

	/**
	 * Returns the fields of a comment.
	 *
	 * @param WP_Comment $comment The comment.
	 */
	private static function comment( WP_Comment $comment ): array {
		$post   = get_post( (int) $comment->comment_post_ID );
		$states = array(
			'0' => 'pending',
			'1' => 'approved',
		);
		return array(
			'id'     => (int) $comment->comment_ID,
			'author' => $comment->comment_author,
			'email'  => $comment->comment_author_email,
			'text'   => self::plain_text( $comment->comment_content ),
			'status' => $states[ (string) $comment->comment_approved ] ?? $comment->comment_approved,
			'post'   => $post instanceof WP_Post ? self::plain_text( $post->post_title ) : '',
			'link'   => $post instanceof WP_Post ? self::post_link( $post ) . '#comment-' . $comment->comment_ID : '',
		);
	}

	/**
	 * Returns the fields of a category, tag or other term.
	 *
	 * @param WP_Term $term The term.
	 */
	private static function term( WP_Term $term ): array {
		$link = get_term_link( $term );
		return array(
			'name'     => self::plain_text( $term->name ),
			'id'       => $term->term_id,
			'taxonomy' => $term->taxonomy,
			'slug'     => $term->slug,
			'link'     => is_string( $link ) ? $link : '',
		);
	}

	/**
	 * Returns the fields of an order or refund.
	 *
	 * @param object $order The order.
	 */
	private static function order( $order ): array {
		$fields = self::call_getters(
			$order,
			array(
				'number'   => 'get_order_number',
				'id'       => 'get_id',
				'status'   => 'get_status',
				'total'    => 'get_total',
				'currency' => 'get_currency',
				'customer' => 'get_formatted_billing_full_name',
				'email'    => 'get_billing_email',
				'payment'  => 'get_payment_method_title',
				'reason'   => 'get_reason',
				'amount'   => 'get_amount',
				'link'     => 'get_edit_order_url',
			)
		);
		$items  = array();
		if ( self::has_public_method( $order, 'get_items' ) ) {
			foreach ( array_slice( (array) $order->get_items(), 0, self::MAX_ITEMS ) as $item ) {
				$item_fields = self::call_getters(
					$item,
					array(
						'name'     => 'get_name',
						'quantity' => 'get_quantity',
					)
				);
				$items[]     = trim( ( isset( $item_fields['quantity'] ) ? $item_fields['quantity'] . ' × ' : '' ) . ( $item_fields['name'] ?? '' ) );
			}
		}
		return $fields + array_filter( array( 'items' => array_filter( $items ) ) );
	}

	/**
	 * Whether an object has a public method. is_callable() alone is always true for a class with __call().
	 *
	 * @param mixed  $object Any value.
	 * @param string $method Name of the method.
	 */
	private static function has_public_method( $object, string $method ): bool {
		return is_object( $object ) && method_exists( $object, $method ) && is_callable( array( $object, $method ) );
	}

	/**
	 * Calls getters. Fields whose getter is missing, throws or returns no scalar are omitted.
	 *
	 * @param mixed $object  Any object.
	 * @param array $methods Names of methods by names of fields.
	 */
	private static function call_getters( $object, array $methods ): array {
		$fields = array();
		foreach ( $methods as $field => $method ) {
			if ( self::has_public_method( $object, $method ) ) {
				try {
					$value = $object->$method();
				} catch ( Throwable $problem ) {
					continue;
				}
				if ( is_scalar( $value ) && '' !== $value ) {
					$fields[ $field ] = is_string( $value ) ? self::plain_text( $value ) : $value;
				}
			}
		}
		return $fields;
	}

	/**
	 * Returns the class name of an object. For anonymous classes PHP appends a NUL byte and the file path, which is removed.
	 *
	 * @param object $object Any object.
	 */
	public static function class_name( $object ): string {
		return (string) strtok( get_class( $object ), "\0" );
	}

	/**
	 * Converts stored markup to plain text.
	 *
	 * @param string $markup Text that may contain tags and entities.
	 */
	public static function plain_text( string $markup ): string {
		return trim( html_entity_decode( wp_strip_all_tags( substr( $markup, 0, 4 * Tocsin_Arguments::MAX_CHARACTERS ) ), ENT_QUOTES | ENT_HTML5, 'UTF-8' ) );
	}
}
