<?php
/**
 * The call to the gateway, and what its answers mean.
 */

declare( strict_types=1 );

final class Test_Client extends Tocsin_Test_Case {

	const KEY = 'svc_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef';

	/** @var Tocsin_Settings */
	private $settings;

	/** @var array */
	private $sent = array();

	protected function setUp(): void {
		parent::setUp();
		$this->settings = new Tocsin_Settings( new Tocsin_Templates() );
		$this->settings->save_url( 'https://gateway.example.com/' );
		$this->settings->save_key( self::KEY );
	}

	/**
	 * @param array|WP_Error $answer
	 */
	private function send( $answer ): Tocsin_Result {
		$take = function ( $short, $args, $url ) use ( $answer ) {
			$this->sent[] = $args + array( 'url' => $url );
			return $answer;
		};
		add_filter( 'pre_http_request', $take, PHP_INT_MAX, 3 );
		$result = ( new Tocsin_Client( $this->settings ) )->send( array( 'title' => 'Grüße/€', 'payload' => array( 'a' => 1 ) ), 'one-key' );
		remove_filter( 'pre_http_request', $take, PHP_INT_MAX );
		return $result;
	}

	private static function answer( int $status, $body, array $headers = array() ): array {
		return array(
			'headers'  => $headers,
			'body'     => is_string( $body ) ? $body : wp_json_encode( $body ),
			'response' => array( 'code' => $status, 'message' => '' ),
			'cookies'  => array(),
		);
	}

	public function test_what_is_signed_is_what_is_sent_though_another_plugin_meddles(): void {
		add_filter( 'http_request_args', static fn( $args ) => array( 'body' => 'changed', 'headers' => array(), 'redirection' => 5 ) + $args, 99 );
		$this->assertTrue( $this->send( self::answer( 200, array( 'ok' => true ) ) )->is_accepted() );
		list( $sent ) = $this->sent;
		$headers      = $sent['headers'];
		$this->assertSame( '{"title":"Grüße/€","payload":{"a":1}}', $sent['body'] );
		$this->assertSame( hash_hmac( 'sha256', $headers['X-Timestamp'] . $sent['body'], self::KEY ), $headers['X-Signature'] );
		$this->assertMatchesRegularExpression( '/^\d{13}$/', $headers['X-Timestamp'] );
		$this->assertSame( array( home_url(), home_url() . '/' ), array( $headers['Origin'], $headers['Referer'] ) );
		$this->assertSame( array( 'Bearer ' . self::KEY, 'application/json', 'one-key' ), array( $headers['Authorization'], $headers['Content-Type'], $headers['Idempotency-Key'] ) );
		$this->assertSame( array( 0, 'POST' ), array( $sent['redirection'], $sent['method'] ) );
	}

	public function test_a_plugin_that_reports_requests_elsewhere_meanwhile_gets_neither_key_nor_message(): void {
		$report = static function ( $short, $args, $url ) {
			if ( 'https://gateway.example.com/' === $url ) {
				wp_remote_get( 'https://logger.example.net/' );
			}
			return $short;
		};
		add_filter( 'pre_http_request', $report, 10, 3 );
		$this->send( self::answer( 200, array( 'ok' => true ) ) );
		$this->assertSame( array( 'https://logger.example.net/', 'https://gateway.example.com/' ), array_column( $this->sent, 'url' ) );
		$this->assertSame( array( 'GET', array(), null ), array( $this->sent[0]['method'], $this->sent[0]['headers'], $this->sent[0]['body'] ) );
	}

	public function test_a_site_with_a_domain_for_each_language_always_sends_as_the_same_site(): void {
		$stored = get_option( 'home' );
		add_filter( 'home_url', static fn() => 'https://de.example.org/startseite/' );
		$refused = $this->send( self::answer( 401, array( 'ok' => false, 'error' => 'Words', 'code' => 'origin_not_allowed' ) ) );
		$this->assertSame( array( $stored, $stored . '/' ), array( $this->sent[0]['headers']['Origin'], $this->sent[0]['headers']['Referer'] ) );
		$this->assertStringContainsString( '127.0.0.1', $refused->message() );
	}

	/**
	 * @dataProvider answers
	 */
	public function test_an_answer_says_whether_to_try_again( $answer, bool $accepted, bool $final ): void {
		$result = $this->send( $answer );
		$this->assertSame( array( $accepted, $final ), array( $result->is_accepted(), $result->is_final() ), $result->message() );
		$this->assertNotSame( '', $result->message() );
		$this->assertStringNotContainsString( self::KEY, $result->message() );
	}

	public function test_the_likeliest_mistakes_are_named(): void {
		$words = fn( $answer ) => $this->send( $answer )->message();
		$this->assertStringContainsString( 'inbox', $words( self::answer( 404, array( 'ok' => false, 'error' => 'Not found', 'code' => 'not_found' ) ) ) );
		$this->assertStringContainsString( 'http://', $words( new WP_Error( 'http_request_failed', 'cURL error 35: error:0A00010B:SSL routines::wrong version number' ) ) );
		$this->assertStringContainsString( 'new key', $words( self::answer( 401, array( 'ok' => false, 'error' => 'Words', 'code' => 'origin_not_allowed' ) ) ) );
	}

	public function answers(): array {
		$error = static fn( int $status, string $code ) => self::answer( $status, array( 'ok' => false, 'error' => 'Words', 'code' => $code ) );
		return array(
			'accepted'                     => array( self::answer( 200, array( 'ok' => true ) ), true, true ),
			'some web page'                => array( self::answer( 200, '<html>' ), false, false ),
			'moved'                        => array( self::answer( 301, '' ), false, false ),
			'nobody there'                 => array( new WP_Error( 'http_request_failed', 'Connection refused' ), false, false ),
			'wrong content'                => array( $error( 400, 'invalid_body' ), false, true ),
			'a proxy that says 400'        => array( self::answer( 400, '<html>' ), false, false ),
			'a key that can be mended'     => array( $error( 401, 'invalid_api_key' ), false, false ),
			'a path that can be mended'    => array( $error( 404, 'not_found' ), false, false ),
			'slow'                         => array( $error( 408, 'request_timeout' ), false, false ),
			'being sent by another'        => array( $error( 409, 'idempotency_in_progress' ), false, false ),
			'too large'                    => array( $error( 413, 'body_too_large' ), false, true ),
			'not the same event'           => array( $error( 422, 'idempotency_mismatch' ), false, true ),
			'too many'                     => array( $error( 429, 'rate_limited' ), false, false ),
			'broken'                       => array( $error( 500, 'internal' ), false, false ),
			'stored, though a device fails' => array( $error( 502, 'mqtt_publish_failed' ), false, true ),
			'a proxy without gateway'      => array( self::answer( 502, '' ), false, false ),
			'strange'                      => array( self::answer( 400, array( 'ok' => array(), 'code' => array( 1 ), 'error' => 5 ) ), false, false ),
		);
	}

	public function test_the_gateway_says_how_long_to_wait(): void {
		$this->assertSame( 7, $this->send( self::answer( 429, '', array( 'retry-after' => '7' ) ) )->retry_after() );
		$this->assertSame( HOUR_IN_SECONDS, $this->send( self::answer( 503, '', array( 'retry-after' => '999999' ) ) )->retry_after() );
		$this->assertSame( 0, $this->send( self::answer( 503, '', array( 'retry-after' => 'soon' ) ) )->retry_after() );
		$this->assertEqualsWithDelta( 60, $this->send( self::answer( 503, '', array( 'retry-after' => gmdate( 'D, d M Y H:i:s', time() + 60 ) . ' GMT' ) ) )->retry_after(), 2 );
	}

	public function test_the_key_is_kept_sealed_not_loaded_with_every_page_and_lost_with_the_salts(): void {
		global $wpdb;
		$row = $wpdb->get_row( "SELECT option_value, autoload FROM $wpdb->options WHERE option_name = 'tocsin_key'", ARRAY_A );
		$this->assertStringNotContainsString( substr( self::KEY, 4 ), $row['option_value'] );
		$this->assertContains( $row['autoload'], array( 'no', 'off' ) );
		$this->assertSame( self::KEY, $this->settings->key_for( 'https://gateway.example.com/' ) );
		add_filter( 'salt', static fn() => 'other salts' );
		$this->assertSame( array( '', true ), array( $this->settings->key_for( 'https://gateway.example.com/' ), $this->settings->has_key() ) );
		$result = $this->send( self::answer( 200, array( 'ok' => true ) ) );
		$this->assertFalse( $result->is_accepted() || $result->is_final() );
		$this->assertSame( array(), $this->sent );
	}

	/**
	 * @testWith ["https://example.com/tocsin", "https://example.com/tocsin/"]
	 *           ["https://example.com:8443/a/b/", "https://example.com:8443/a/b/"]
	 *           [" HTTPS://example.com/#keys ", "https://example.com/"]
	 *           ["http://[::1]:8080", "http://[::1]:8080"]
	 */
	public function test_an_address_in_a_folder_gets_the_slash_that_the_contract_wants( string $entered, string $called ): void {
		$this->assertSame( array( '', '' ), array( $this->settings->save_url( $entered ), $this->settings->save_key( self::KEY ) ) );
		$this->send( self::answer( 200, array( 'ok' => true ) ) );
		$this->assertSame( array( $called ), array_column( $this->sent, 'url' ) );
	}

	/**
	 * @testWith ["https://gateway.example.com", true]
	 *           ["https://GATEWAY.example.com:443/folder/", true]
	 *           ["http://gateway.example.com/", false]
	 *           ["http://gateway.example.com:443/", false]
	 *           ["https://gateway.example.com:8443/", false]
	 *           ["https://gateway.example.com./", false]
	 *           ["https://gateway.example.com.example.net/", false]
	 *           ["https://gateway.example.com@example.net/", false]
	 *           ["https://gateway.example.com\\\\.example.net/", false]
	 *           ["https://gateway.example.com:443:80/", false]
	 *           ["https://gateway.example%2ecom/", false]
	 *           ["//gateway.example.com/", false]
	 *           ["", false]
	 */
	public function test_a_key_is_given_out_for_the_origin_that_it_was_entered_for( string $url, bool $is_given ): void {
		$this->assertSame( $is_given ? self::KEY : '', $this->settings->key_for( $url ) );
	}

	public function test_a_binding_that_was_written_without_the_key_counts_for_nothing(): void {
		$stored          = get_option( 'tocsin_key' );
		$stored['bound'] = array( 'origin' => 'https://example.net' ) + $stored['bound'];
		update_option( 'tocsin_key', $stored );
		$this->assertSame( '', $this->settings->key_for( 'https://example.net/' ) );
		$stored['bound'] = Tocsin_Key_Origin::bind( 'svc_another', 'https://example.net/' );
		update_option( 'tocsin_key', $stored );
		$this->assertSame( '', $this->settings->key_for( 'https://example.net/' ) );
	}

	public function test_addresses_and_keys_that_cannot_be_are_refused_and_change_nothing(): void {
		foreach ( array( 'gateway.example.com', 'ftp://x', 'javascript:alert(1)', 'https://', 'https://user:word@gateway.example.com', 'https://gateway.example.com/?format=openapi' ) as $url ) {
			$this->assertNotSame( '', $this->settings->save_url( $url ), $url );
		}
		foreach ( array( 'x', 'svc_', "svc_a\nb", 'svc_' . str_repeat( 'a', 300 ) ) as $key ) {
			$problem = $this->settings->save_key( $key );
			$this->assertNotSame( '', $problem );
		}
		$this->assertSame( array( 'https://gateway.example.com/', self::KEY ), array( $this->settings->url(), $this->settings->key_for( $this->settings->url() ) ) );
	}
}
