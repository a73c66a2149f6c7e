<?php
/**
 * Requests to the gateway and interpretation of responses.
 */

declare( strict_types=1 );

final class Test_Client extends Tocsin_Test_Case {

	const KEY = 'svc_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef';

	/** @var Tocsin_Connection */
	private $connection;

	/** @var array */
	private $sent = array();

	protected function setUp(): void {
		parent::setUp();
		$this->connection = new Tocsin_Connection();
		$this->connection->save_url( 'https://gateway.example.com/' );
		$this->connection->save_key( self::KEY );
	}

	/**
	 * @param array|WP_Error $response
	 */
	private function send( $response ): Tocsin_Result {
		$take = function ( $short, $args, $url ) use ( $response ) {
			$this->sent[] = $args + array( 'url' => $url );
			return $response;
		};
		add_filter( 'pre_http_request', $take, PHP_INT_MAX, 3 );
		$result = ( new Tocsin_Client( $this->connection ) )->send( array( 'title' => 'Grüße/€', 'payload' => array( 'a' => 1 ) ), 'one-key' );
		remove_filter( 'pre_http_request', $take, PHP_INT_MAX );
		return $result;
	}

	private static function response( int $status, $body, array $headers = array() ): array {
		return array(
			'headers'  => $headers,
			'body'     => is_string( $body ) ? $body : wp_json_encode( $body ),
			'response' => array( 'code' => $status, 'message' => '' ),
			'cookies'  => array(),
		);
	}

	public function test_signed_request_is_sent_unchanged_despite_filters_of_other_plugins(): void {
		add_filter( 'http_request_args', static fn( $args ) => array( 'body' => 'changed', 'headers' => array(), 'redirection' => 5 ) + $args, 99 );
		$this->assertTrue( $this->send( self::response( 200, array( 'ok' => true ) ) )->is_accepted() );
		list( $sent ) = $this->sent;
		$headers      = $sent['headers'];
		$this->assertSame( '{"title":"Grüße/€","payload":{"a":1}}', $sent['body'] );
		$this->assertSame( hash_hmac( 'sha256', $headers['X-Timestamp'] . $sent['body'], self::KEY ), $headers['X-Signature'] );
		$this->assertMatchesRegularExpression( '/^\d{13}$/', $headers['X-Timestamp'] );
		$this->assertSame( array( home_url(), home_url() . '/' ), array( $headers['Origin'], $headers['Referer'] ) );
		$this->assertSame( array( 'Bearer ' . self::KEY, 'application/json', 'one-key' ), array( $headers['Authorization'], $headers['Content-Type'], $headers['Idempotency-Key'] ) );
		$this->assertSame( array( 0, 'POST' ), array( $sent['redirection'], $sent['method'] ) );
	}

	public function test_nested_request_of_another_plugin_contains_neither_key_nor_notification(): void {
		$report = static function ( $short, $args, $url ) {
			if ( 'https://gateway.example.com/' === $url ) {
				wp_remote_get( 'https://logger.example.net/' );
			}
			return $short;
		};
		add_filter( 'pre_http_request', $report, 10, 3 );
		$this->send( self::response( 200, array( 'ok' => true ) ) );
		$this->assertSame( array( 'https://logger.example.net/', 'https://gateway.example.com/' ), array_column( $this->sent, 'url' ) );
		$this->assertSame( array( 'GET', array(), null ), array( $this->sent[0]['method'], $this->sent[0]['headers'], $this->sent[0]['body'] ) );
	}

	public function test_origin_does_not_depend_on_the_domain_of_a_language(): void {
		$stored = get_option( 'home' );
		add_filter( 'home_url', static fn() => 'https://de.example.org/startseite/' );
		$result = $this->send( self::response( 401, array( 'ok' => false, 'error' => 'An error', 'code' => 'origin_not_allowed' ) ) );
		$this->assertSame( array( $stored, $stored . '/' ), array( $this->sent[0]['headers']['Origin'], $this->sent[0]['headers']['Referer'] ) );
		$this->assertStringContainsString( '127.0.0.1', $result->message() );
	}

	/**
	 * @dataProvider responses
	 */
	public function test_response_determines_whether_to_retry( $response, bool $accepted, bool $final ): void {
		$result = $this->send( $response );
		$this->assertSame( array( $accepted, $final ), array( $result->is_accepted(), $result->is_final() ), $result->message() );
		$this->assertNotSame( '', $result->message() );
		$this->assertStringNotContainsString( self::KEY, $result->message() );
	}

	public function test_messages_explain_common_mistakes(): void {
		$message = fn( $response ) => $this->send( $response )->message();
		$this->assertStringContainsString( 'inbox', $message( self::response( 404, array( 'ok' => false, 'error' => 'Not found', 'code' => 'not_found' ) ) ) );
		$this->assertStringContainsString( 'http://', $message( new WP_Error( 'http_request_failed', 'cURL error 35: error:0A00010B:SSL routines::wrong version number' ) ) );
		$this->assertStringContainsString( 'new key', $message( self::response( 401, array( 'ok' => false, 'error' => 'An error', 'code' => 'origin_not_allowed' ) ) ) );
	}

	public function responses(): array {
		$error = static fn( int $status, string $code ) => self::response( $status, array( 'ok' => false, 'error' => 'An error', 'code' => $code ) );
		return array(
			'accepted'                     => array( self::response( 200, array( 'ok' => true ) ), true, true ),
			'a web page'                   => array( self::response( 200, '<html>' ), false, false ),
			'moved'                        => array( self::response( 301, '' ), false, false ),
			'connection refused'           => array( new WP_Error( 'http_request_failed', 'Connection refused' ), false, false ),
			'invalid content'              => array( $error( 400, 'invalid_body' ), false, true ),
			'status 400 from a proxy'      => array( self::response( 400, '<html>' ), false, false ),
			'a key that can be corrected'  => array( $error( 401, 'invalid_api_key' ), false, false ),
			'a path that can be corrected' => array( $error( 404, 'not_found' ), false, false ),
			'timeout'                      => array( $error( 408, 'request_timeout' ), false, false ),
			'in progress'                  => array( $error( 409, 'idempotency_in_progress' ), false, false ),
			'too large'                    => array( $error( 413, 'body_too_large' ), false, true ),
			'idempotency mismatch'         => array( $error( 422, 'idempotency_mismatch' ), false, true ),
			'rate limited'                 => array( $error( 429, 'rate_limited' ), false, false ),
			'internal error'               => array( $error( 500, 'internal' ), false, false ),
			'stored, but not published'    => array( $error( 502, 'mqtt_publish_failed' ), false, true ),
			'a proxy without gateway'      => array( self::response( 502, '' ), false, false ),
			'malformed body'               => array( self::response( 400, array( 'ok' => array(), 'code' => array( 1 ), 'error' => 5 ) ), false, false ),
		);
	}

	public function test_retry_after_is_parsed(): void {
		$this->assertSame( 7, $this->send( self::response( 429, '', array( 'retry-after' => '7' ) ) )->retry_after() );
		$this->assertSame( HOUR_IN_SECONDS, $this->send( self::response( 503, '', array( 'retry-after' => '999999' ) ) )->retry_after() );
		$this->assertSame( 0, $this->send( self::response( 503, '', array( 'retry-after' => 'soon' ) ) )->retry_after() );
		$this->assertEqualsWithDelta( 60, $this->send( self::response( 503, '', array( 'retry-after' => gmdate( 'D, d M Y H:i:s', time() + 60 ) . ' GMT' ) ) )->retry_after(), 2 );
	}

	public function test_key_is_encrypted_not_autoloaded_and_bound_to_the_salts(): void {
		global $wpdb;
		$row = $wpdb->get_row( "SELECT option_value, autoload FROM $wpdb->options WHERE option_name = 'tocsin_key'", ARRAY_A );
		$this->assertStringNotContainsString( substr( self::KEY, 4 ), $row['option_value'] );
		$this->assertContains( $row['autoload'], array( 'no', 'off' ) );
		$this->assertSame( self::KEY, $this->connection->key_for( 'https://gateway.example.com/' ) );
		add_filter( 'salt', static fn() => 'other salts' );
		$this->assertSame( array( '', true ), array( $this->connection->key_for( 'https://gateway.example.com/' ), $this->connection->has_key() ) );
		$result = $this->send( self::response( 200, array( 'ok' => true ) ) );
		$this->assertFalse( $result->is_accepted() || $result->is_final() );
		$this->assertSame( array(), $this->sent );
	}

	/**
	 * @testWith ["https://example.com/tocsin", "https://example.com/tocsin/"]
	 *           ["https://example.com:8443/a/b/", "https://example.com:8443/a/b/"]
	 *           [" HTTPS://example.com/#keys ", "https://example.com/"]
	 *           ["http://[::1]:8080", "http://[::1]:8080"]
	 */
	public function test_address_with_a_path_gets_a_trailing_slash( string $entered, string $called ): void {
		$this->assertSame( array( '', '' ), array( $this->connection->save_url( $entered ), $this->connection->save_key( self::KEY ) ) );
		$this->send( self::response( 200, array( 'ok' => true ) ) );
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
	public function test_key_is_returned_only_for_its_origin( string $url, bool $is_same_origin ): void {
		$this->assertSame( $is_same_origin ? self::KEY : '', $this->connection->key_for( $url ) );
	}

	public function test_forged_binding_is_rejected(): void {
		$stored          = get_option( 'tocsin_key' );
		$stored['bound'] = array( 'origin' => 'https://example.net' ) + $stored['bound'];
		update_option( 'tocsin_key', $stored );
		$this->assertSame( '', $this->connection->key_for( 'https://example.net/' ) );
		$stored['bound'] = Tocsin_Key_Origin::bind( 'svc_another', 'https://example.net/' );
		update_option( 'tocsin_key', $stored );
		$this->assertSame( '', $this->connection->key_for( 'https://example.net/' ) );
	}

	public function test_invalid_addresses_and_keys_are_rejected_and_change_nothing(): void {
		foreach ( array( 'gateway.example.com', 'ftp://x', 'javascript:alert(1)', 'https://', 'https://user:word@gateway.example.com', 'https://gateway.example.com/?format=openapi' ) as $url ) {
			$this->assertNotSame( '', $this->connection->save_url( $url ), $url );
		}
		foreach ( array( 'x', 'svc_', "svc_a\nb", 'svc_' . str_repeat( 'a', 300 ) ) as $key ) {
			$problem = $this->connection->save_key( $key );
			$this->assertNotSame( '', $problem );
		}
		$this->assertSame( array( 'https://gateway.example.com/', self::KEY ), array( $this->connection->url(), $this->connection->key_for( $this->connection->url() ) ) );
	}
}
