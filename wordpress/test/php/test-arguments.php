<?php
/**
 * Conversion of hook arguments to a small, readable and redacted payload.
 */

declare( strict_types=1 );

final class Test_Arguments extends Tocsin_Test_Case {

	private function describe( array $named ): array {
		return ( new Tocsin_Arguments() )->describe( $named );
	}

	public function test_post_is_described_by_title_type_author_and_link(): void {
		$id   = wp_insert_post(
			array(
				'post_title'    => 'Tom &amp; <b>Jerry</b>',
				'post_status'   => 'publish',
				'post_author'   => 1,
				'post_password' => 'of-the-post',
			)
		);
		$described = $this->describe( array( 'post' => get_post( $id ) ) )['post'];
		$this->assertSame( 'Tom & Jerry', $described['title'] );
		$this->assertSame( array( 'Post', 'publish', 'admin' ), array( $described['type'], $described['status'], $described['author'] ) );
		$this->assertSame( get_permalink( $id ), $described['link'] );
		$this->assertStringNotContainsString( 'of-the-post', wp_json_encode( $described ) );
	}

	public function test_user_is_described_without_credentials(): void {
		global $wpdb;
		$wpdb->update( $wpdb->users, array( 'user_activation_key' => 'activation-key-1' ), array( 'ID' => 1 ) );
		clean_user_cache( 1 );
		$user = get_userdata( 1 );
		$described = $this->describe(
			array(
				'user' => $user,
				'row'  => $user->data,
				'list' => (array) $user->data,
			)
		);
		$this->assertSame( array( 'admin', 'admin', array( 'administrator' ) ), array( $described['user']['name'], $described['user']['login'], $described['user']['roles'] ) );
		$json = wp_json_encode( $described, JSON_UNESCAPED_SLASHES );
		$this->assertStringNotContainsString( $user->user_pass, $json );
		$this->assertStringNotContainsString( 'activation-key-1', $json );
	}

	public function test_comments_terms_errors_and_dates_are_described(): void {
		$post    = wp_insert_post( array( 'post_title' => 'About tea' ) );
		$comment = wp_insert_comment(
			array(
				'comment_post_ID' => $post,
				'comment_author'  => 'Ada',
				'comment_content' => '<p>Nice &amp; warm</p>',
			)
		);
		$error   = new WP_Error( 'mail', 'No route', array( 'message' => 'the text of the email' ) );
		$error->add( 'again', 'Still none' );
		$described = $this->describe(
			array(
				'comment' => get_comment( $comment ),
				'term'    => get_term( (int) get_option( 'default_category' ) ),
				'error'   => $error,
				'when'    => new DateTimeImmutable( '2026-01-02T03:04:05+00:00' ),
			)
		);
		$this->assertSame( array( 'Ada', 'Nice & warm', 'About tea' ), array( $described['comment']['author'], $described['comment']['text'], $described['comment']['post'] ) );
		$this->assertSame( 'category', $described['term']['taxonomy'] );
		$this->assertSame(
			array(
				'code'    => 'mail',
				'message' => "No route\nStill none",
			),
			$described['error']
		);
		$this->assertSame( '2026-01-02T03:04:05+00:00', $described['when'] );
	}

	public function test_order_is_described_by_its_getters_even_if_one_throws(): void {
		$item  = new class() {
			public function get_name() {
				return 'Tea';
			}
			public function get_quantity() {
				return 2;
			}
		};
		$order = new class( $item ) {
			private $item;
			public $order_key = 'wc_order_abc';
			public function __construct( $item ) {
				$this->item = $item;
			}
			public function get_id() {
				return 17;
			}
			public function get_order_number() {
				return '2026-17';
			}
			public function get_status() {
				return 'processing';
			}
			public function get_total() {
				return '49.00';
			}
			public function get_currency() {
				throw new RuntimeException( 'not today' );
			}
			public function get_items() {
				return array( 5 => $this->item );
			}
		};
		$this->assertSame(
			array(
				'number' => '2026-17',
				'id'     => 17,
				'status' => 'processing',
				'total'  => '49.00',
				'items'  => array( '2 × Tea' ),
			),
			$this->describe( array( 'order' => $order ) )['order']
		);
	}

	public function test_unknown_objects_are_described_by_class_only(): void {
		$unknown = new class() {
			public $inside = 'private matter';
			public function __call( $name, $args ) {
				return 'private matter';
			}
			public function __toString() {
				return 'private matter';
			}
		};
		$described  = $this->describe(
			array(
				'magic'    => $unknown,
				'closure'  => static function () {},
				'resource' => fopen( 'php://memory', 'r' ),
				'nan'      => NAN,
			)
		);
		$this->assertStringNotContainsString( 'private matter', wp_json_encode( $described ) );
		$this->assertSame( array( '[Closure]', '[resource]', '[NaN]' ), array( $described['closure'], $described['resource'], $described['nan'] ) );
	}

	public function test_values_with_secret_names_are_hidden_and_others_are_not(): void {
		$secret = array( 'user_pass', 'pass1', 'pwd', 'PASSWORD', 'authKey', 'auth', 'api_key', 'apiKey', 'key', 'access-token', '_wpnonce', 'cookie', 'session_tokens', 'hash', 'card_number', 'cvc', 'IBAN', 'client_secret', 'X-Signature' );
		$plain  = array( 'author', 'passenger', 'keyboard', 'title', 'hashtag', 'discard', 'description', 'compass' );
		$described   = $this->describe( array_fill_keys( array_merge( $secret, $plain ), 'value-x' ) );
		$this->assertSame( array_fill_keys( $secret, '[hidden]' ), array_intersect_key( $described, array_flip( $secret ) ) );
		$this->assertSame( array_fill_keys( $plain, 'value-x' ), array_intersect_key( $described, array_flip( $plain ) ) );
	}

	public function test_value_is_hidden_if_a_sibling_names_a_secret(): void {
		$described = $this->describe(
			array(
				'meta_key'   => 'session_tokens',
				'meta_value' => array( 'd2a7' => array( 'login' => 1 ) ),
				'fields'     => array(
					array(
						'name'  => 'Your password',
						'value' => 'hunter2',
					),
					array(
						'name'  => 'Your name',
						'value' => 'Ada',
					),
				),
			)
		);
		$this->assertSame( '[hidden]', $described['meta_value'] );
		$this->assertSame( 'session_tokens', $described['meta_key'] );
		$this->assertSame( array( '[hidden]', 'Ada' ), array_column( $described['fields'], 'value' ) );
	}

	public function test_secrets_in_texts_are_redacted(): void {
		$described = $this->describe(
			array(
				'hash'   => '',
				'one'    => wp_hash_password( 'x' ),
				'two'    => '$2y$10$abcdefghijklmnopqrstuv',
				'mail'   => 'Reset: https://example.com/wp-login.php?action=rp&key=Zx81LongKey&login=ada',
				'header' => 'Authorization: Bearer abc.def-ghi123',
				'ours'   => 'my key is svc_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef.',
			)
		);
		$this->assertSame( array( '[hidden]', '[hidden]' ), array( $described['one'], $described['two'] ) );
		$this->assertSame( 'Reset: https://example.com/wp-login.php?action=rp&key=[hidden]&login=ada', $described['mail'] );
		$this->assertSame( 'Authorization: Bearer [hidden]', $described['header'] );
		$this->assertSame( 'my key is [hidden].', $described['ours'] );
	}

	/**
	 * @testWith ["{\"user\":\"ada\", \"password\": \"hunter2\"}", "{\"user\":\"ada\", \"password\": \"[hidden]\"}"]
	 *           ["a:2:{s:4:\"user\";s:3:\"ada\";s:3:\"pwd\";s:7:\"hunter2\";}", "a:2:{s:4:\"user\";s:3:\"ada\";s:3:\"pwd\";s:7:\"[hidden]\";}"]
	 *           ["pwd=hunter2&log=ada", "pwd=[hidden]&log=ada"]
	 *           ["https://example.com/back#access_token=hunter2", "https://example.com/back#access_token=[hidden]"]
	 *           ["No response from ftp://ada:hunter2@example.com/x", "No response from ftp://ada:[hidden]@example.com/x"]
	 *           ["Stored $P$B12345678abcdefghijklmnopqrstu. in users", "Stored [hidden] in users"]
	 *           ["It costs $5$ or $6$, see https://example.com/?page=2", "It costs $5$ or $6$, see https://example.com/?page=2"]
	 *           ["He said: \"Key account\" is fine; \"really\"", "He said: \"Key account\" is fine; \"really\""]
	 */
	public function test_text_is_redacted_and_otherwise_unchanged( string $text, string $left ): void {
		$this->assertSame( array( 'text' => $left ), $this->describe( array( 'text' => $text ) ) );
	}

	public function test_login_cookies_are_redacted(): void {
		$cookie = wp_generate_auth_cookie( 1, time() + HOUR_IN_SECONDS, 'logged_in' );
		$described   = $this->describe( array( 'arg_1' => $cookie, 'arg_2' => 'wordpress_logged_in=' . rawurlencode( $cookie ) ) );
		$this->assertSame( array( 'arg_1' => 'admin[hidden]', 'arg_2' => 'wordpress_logged_in=admin[hidden]' ), $described );
	}

	public function test_control_characters_and_server_paths_are_removed(): void {
		$described = $this->describe( array( 'text' => "a\x1b]0;title\x07b\0c\u{9b}d\te", 'thing' => new class() {}, 'error' => new class( 'no' ) extends Exception {} ) );
		$this->assertSame( array( "a]0;titlebcd\te", '[class@anonymous]' ), array( $described['text'], $described['thing'] ) );
		// Before PHP 8 the name of an anonymous class does not contain its parent.
		$this->assertMatchesRegularExpression( '/^(Exception|class)@anonymous$/', $described['error']['code'] );
	}

	public function test_error_with_an_invalid_message_causes_no_warning(): void {
		$error = new WP_Error( 'strange', array( 'not', 'a text' ) );
		$error->add( 'plain', 'No route' );
		$this->assertSame( array( 'code' => 'strange', 'message' => 'No route' ), $this->describe( array( 'error' => $error ) )['error'] );
	}

	public function test_array_with_a_million_entries_takes_constant_time(): void {
		$big   = array_fill_keys( range( 1, 1000000 ), 1 );
		$begin = microtime( true );
		$described  = $this->describe( array( 'big' => $big ) );
		$this->assertLessThan( 0.01, microtime( true ) - $begin );
		$this->assertSame( '999950 more omitted', end( $described['big'] ) );
	}

	public function test_large_deep_and_recursive_values_are_limited(): void {
		$deep = 'bottom';
		for ( $i = 0; $i < 40; $i++ ) {
			$deep = array( 'in' => $deep );
		}
		$loop       = new stdClass();
		$loop->name = 'loop';
		$loop->self = $loop;
		$list       = array( 'a' => 1 );
		$list['me'] = &$list;
		$begin      = microtime( true );
		$described       = $this->describe(
			array(
				'deep'  => $deep,
				'loop'  => $loop,
				'list'  => $list,
				'wide'  => range( 1, 5000 ),
				'broad' => array_fill( 0, 50, array_fill( 0, 50, str_repeat( "\u{1F514}", 9000 ) ) ),
			)
		);
		$spent      = microtime( true ) - $begin;
		$this->assertSame(
			array(
				'name' => 'loop',
				'self' => '[stdClass]',
			),
			$described['loop']
		);
		$this->assertStringNotContainsString( 'bottom', wp_json_encode( $described['deep'] ) );
		$this->assertCount( 51, $described['wide'] );
		$this->assertSame( '… 4950 more omitted', end( $described['wide'] ) );
		$this->assertLessThan( 64 * 1024, strlen( wp_json_encode( $described ) ) );
		$this->assertLessThan( 0.05, $spent );
	}

	public function test_text_is_truncated_by_characters_and_invalid_bytes_are_replaced(): void {
		$described = $this->describe(
			array(
				'long'   => str_repeat( 'ä', 3000 ),
				'broken' => "caf\xe9 & <b>",
			)
		);
		$this->assertSame( str_repeat( 'ä', 1999 ) . '…', $described['long'] );
		$this->assertSame( "caf\u{FFFD} & <b>", $described['broken'] );
	}
}
