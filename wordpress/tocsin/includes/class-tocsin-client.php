<?php
/**
 * HTTP client for the gateway.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Sends one notification, signed as in docs/callers.md#signed-requests.
 */
final class Tocsin_Client {
	const TIMEOUT_SECONDS = 10;

	/**
	 * Provides the gateway address and the API key.
	 *
	 * @var Tocsin_Connection
	 */
	private Tocsin_Connection $connection;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Connection $connection Provides the gateway address and the API key.
	 */
	public function __construct( Tocsin_Connection $connection ) {
		$this->connection = $connection;
	}

	/**
	 * Returns the lowercase hex HMAC-SHA256 of timestamp and raw body, keyed with the API key.
	 *
	 * @param string $timestamp Milliseconds since the Unix epoch.
	 * @param string $body      The raw request body.
	 * @param string $key       The API key.
	 */
	public static function sign( string $timestamp, string $body, string $key ): string {
		return hash_hmac( 'sha256', $timestamp . $body, $key );
	}

	/**
	 * Builds the request body for an event. It is deterministic, so that a retry under the same Idempotency-Key has the same body.
	 *
	 * @param array $event An event.
	 */
	public static function notification( array $event ): array {
		$notification = array(
			'title'    => $event['title'],
			'body'     => $event['body'],
			'source'   => self::source(),
			'category' => $event['category'],
			'severity' => $event['severity'],
			'payload'  => $event['payload'],
		);
		return array_filter( $notification, static fn( $value ) => '' !== $value && array() !== $value );
	}

	/**
	 * Returns the site's URL as stored, without a trailing slash. Not home_url(): multilingual plugins filter it per language, and the
	 * origin of a request must not depend on the page that sends it.
	 */
	private static function home(): string {
		return untrailingslashit( (string) get_option( 'home' ) );
	}

	/**
	 * Returns the site's host.
	 */
	public static function source(): string {
		return mb_substr( (string) wp_parse_url( self::home(), PHP_URL_HOST ), 0, 200 );
	}

	/**
	 * Sends one notification and waits for the response.
	 *
	 * @param array  $notification    Fields as in docs/callers.md#fields.
	 * @param string $idempotency_key Must be the same for all attempts to send an event.
	 */
	public function send( array $notification, string $idempotency_key ): Tocsin_Result {
		$url = $this->connection->url();
		$key = $this->connection->key_for( $url );
		if ( '' === $key ) {
			return Tocsin_Result::failure( $this->connection->problem() );
		}
		$body = wp_json_encode( $notification, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES );
		if ( false === $body ) {
			return Tocsin_Result::failure( __( 'The notification cannot be encoded as JSON.', 'tocsin' ) );
		}
		$timestamp = sprintf( '%.0f', floor( microtime( true ) * 1000 ) );
		$home      = self::home();

		return $this->post(
			$url,
			array(
				'method'              => 'POST',
				'timeout'             => self::TIMEOUT_SECONDS,
				'redirection'         => 0,
				'limit_response_size' => 64 * KB_IN_BYTES,
				'user-agent'          => 'Tocsin-WordPress/' . TOCSIN_VERSION,
				'headers'             => array(
					'Authorization'   => 'Bearer ' . $key,
					'Content-Type'    => 'application/json',
					'Origin'          => $home,
					'Referer'         => $home . '/',
					'X-Timestamp'     => $timestamp,
					'X-Signature'     => self::sign( $timestamp, $body, $key ),
					'Idempotency-Key' => $idempotency_key,
				),
				'body'                => $body,
			)
		);
	}

	/**
	 * Posts the signed request. Other plugins may filter requests, so body and headers are restored, or the signature would be invalid.
	 * They are restored only for this URL: a logging plugin may send a request of its own meanwhile, which must not contain the key.
	 * Redirects are not followed, because WordPress would forward the key to their target.
	 *
	 * Not wp_safe_remote_post(): a gateway in the private network is legitimate, and an administrator has entered its address.
	 *
	 * @param string $url  The gateway address.
	 * @param array  $args Arguments of wp_remote_post().
	 */
	private function post( string $url, array $args ): Tocsin_Result {
		$signed  = array_intersect_key( $args, array_flip( array( 'method', 'redirection', 'headers', 'body' ) ) );
		$restore = static fn( $filtered, $to = '' ) => $to === $url ? $signed + (array) $filtered : $filtered;
		add_filter( 'http_request_args', $restore, PHP_INT_MAX, 2 );
		try {
			return Tocsin_Result::from_response( Tocsin_Listener::without_events( static fn() => wp_remote_post( $url, $args ) ) );
		} catch ( Throwable $problem ) {
			/* translators: %s: class name of an error. */
			return Tocsin_Result::failure( sprintf( __( 'Another plugin interrupted the request (%s).', 'tocsin' ), Tocsin_Object_Fields::class_name( $problem ) ) );
		} finally {
			remove_filter( 'http_request_args', $restore, PHP_INT_MAX );
		}
	}
}
