<?php
/**
 * The things that hooks hand over.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Says of an object what people want to know of it, and nothing else.
 *
 * Texts are taken as stored, without the filters of a theme: those cost time and may do anything.
 */
final class Tocsin_Object_Fields {
	const MAX_ITEMS = 20;

	/**
	 * The fields of an object that is known.
	 *
	 * @param object $thing Any object.
	 * @return array|string|int|null A text or number where that says it all; null when nothing is known of such a thing.
	 */
	public static function fields( $thing ) {
		if ( $thing instanceof WP_Post ) {
			return self::post( $thing );
		}
		if ( $thing instanceof WP_User ) {
			return self::user( $thing );
		}
		if ( $thing instanceof WP_Comment ) {
			return self::comment( $thing );
		}
		if ( $thing instanceof WP_Term ) {
			return self::term( $thing );
		}
		if ( $thing instanceof WP_Error ) {
			return array(
				'code'    => $thing->get_error_code(),
				'message' => self::plain_text( implode( "\n", array_slice( array_filter( $thing->get_error_messages(), 'is_scalar' ), 0, 5 ) ) ),
			);
		}
		if ( $thing instanceof WP_Theme ) {
			return array(
				'name'    => (string) $thing->get( 'Name' ),
				'version' => (string) $thing->get( 'Version' ),
			);
		}
		if ( $thing instanceof DateTimeInterface ) {
			return $thing->format( DATE_ATOM );
		}
		if ( $thing instanceof Throwable ) {
			return array(
				'code'    => self::class_name( $thing ),
				'message' => $thing->getMessage(),
			);
		}
		if ( $thing instanceof stdClass ) {
			return get_object_vars( $thing );
		}
		// Only of PHP 8.1 and newer; on an older one nothing is an instance of it.
		if ( $thing instanceof BackedEnum ) {
			return $thing->value;
		}
		if ( $thing instanceof UnitEnum ) {
			return $thing->name;
		}
		return self::shop_fields( $thing );
	}

	/**
	 * Orders and products by their methods: other shops than WooCommerce copy them.
	 *
	 * @param object $thing Any object.
	 */
	private static function shop_fields( $thing ): ?array {
		if ( self::has_public_method( $thing, 'get_total' ) && self::has_public_method( $thing, 'get_status' ) && self::has_public_method( $thing, 'get_id' ) ) {
			return self::order( $thing );
		}
		if ( self::has_public_method( $thing, 'get_sku' ) && self::has_public_method( $thing, 'get_name' ) ) {
			return self::call_getters(
				$thing,
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
	 * A post, page or anything else of that kind.
	 *
	 * @param WP_Post $post The post.
	 */
	private static function post( WP_Post $post ): array {
		$author = get_userdata( (int) $post->post_author );
		$kind   = get_post_type_object( $post->post_type );
		return array(
			'title'  => '' === $post->post_title ? __( '(no title)', 'tocsin' ) : self::plain_text( $post->post_title ),
			'id'     => $post->ID,
			'type'   => null === $kind ? $post->post_type : $kind->labels->singular_name,
			'status' => $post->post_status,
			'author' => $author instanceof WP_User ? $author->display_name : '',
			'link'   => self::post_link( $post ),
		);
	}

	/**
	 * Where a post is. One that is just being published may not have its name in addresses yet.
	 *
	 * @param WP_Post $post The post.
	 */
	private static function post_link( WP_Post $post ): string {
		return '' === $post->post_name ? home_url( '/?p=' . $post->ID ) : (string) get_permalink( $post );
	}

	/**
	 * A user. The e-mail address is how an owner knows people by; what opens the account is never read.
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
	 * A comment.
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
	 * A category, tag or other term.
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
	 * An order, or a refund of one.
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
				$about   = self::call_getters(
					$item,
					array(
						'name'     => 'get_name',
						'quantity' => 'get_quantity',
					)
				);
				$items[] = trim( ( isset( $about['quantity'] ) ? $about['quantity'] . ' × ' : '' ) . ( $about['name'] ?? '' ) );
			}
		}
		return $fields + array_filter( array( 'items' => array_filter( $items ) ) );
	}

	/**
	 * Whether a method is there for everybody. A class with __call() answers is_callable() with yes to all, so that alone does not tell.
	 *
	 * @param mixed  $thing  Anything.
	 * @param string $method The method's name.
	 */
	private static function has_public_method( $thing, string $method ): bool {
		return is_object( $thing ) && method_exists( $thing, $method ) && is_callable( array( $thing, $method ) );
	}

	/**
	 * Calls methods; what is missing, fails or says nothing is left out.
	 *
	 * @param mixed $thing   Any object.
	 * @param array $methods Methods by the names of fields.
	 */
	private static function call_getters( $thing, array $methods ): array {
		$fields = array();
		foreach ( $methods as $field => $method ) {
			if ( self::has_public_method( $thing, $method ) ) {
				try {
					$value = $thing->$method();
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
	 * The class of an object. In the name of one without a name PHP hides the file that it is written in.
	 *
	 * @param object $thing Any object.
	 */
	public static function class_name( $thing ): string {
		return (string) strtok( get_class( $thing ), "\0" );
	}

	/**
	 * Stored markup as plain text.
	 *
	 * @param string $markup Text that may hold tags and entities.
	 */
	public static function plain_text( string $markup ): string {
		return trim( html_entity_decode( wp_strip_all_tags( substr( $markup, 0, 4 * Tocsin_Arguments::MAX_CHARACTERS ) ), ENT_QUOTES | ENT_HTML5, 'UTF-8' ) );
	}
}
