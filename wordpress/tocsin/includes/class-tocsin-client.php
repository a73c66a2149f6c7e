<?php
/**
 * The way to the gateway.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Sends one notification, signed as section 5.6 of the contract says.
 */
final class Tocsin_Client {
	const TIMEOUT_SECONDS = 10;

	/**
	 * Address and key.
	 *
	 * @var Tocsin_Settings
	 */
	private Tocsin_Settings $settings;

	/**
	 * Takes the settings.
	 *
	 * @param Tocsin_Settings $settings Address and key.
	 */
	public function __construct( Tocsin_Settings $settings ) {
		$this->settings = $settings;
	}

	/**
	 * Lowercase hex HMAC-SHA256 of timestamp and raw body, keyed with the API key.
	 *
	 * @param string $timestamp Milliseconds since the Unix epoch.
	 * @param string $body      The body as it is sent.
	 * @param string $key       The API key.
	 */
	public static function sign( string $timestamp, string $body, string $key ): string {
		return hash_hmac( 'sha256', $timestamp . $body, $key );
	}

	/**
	 * The body of the call for an event. The same event always gives the same body, so that it can be sent again under its Idempotency-Key.
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
	 * The site's address, without a slash at its end. As stored: home_url() is another one on a site whose languages have domains of
	 * their own, and neither what a key allows nor what an event says may depend on which page sends.
	 */
	private static function home(): string {
		return untrailingslashit( (string) get_option( 'home' ) );
	}

	/**
	 * The site's host.
	 */
	public static function source(): string {
		return mb_substr( (string) wp_parse_url( self::home(), PHP_URL_HOST ), 0, 200 );
	}

	/**
	 * Sends one notification and waits for the answer.
	 *
	 * @param array  $notification    The fields of the contract's section 2.1.
	 * @param string $idempotency_key Stays the same when the same event is sent again.
	 */
	public function send( array $notification, string $idempotency_key ): Tocsin_Result {
		$url = $this->settings->url();
		$key = $this->settings->key_for( $url );
		if ( '' === $key ) {
			return Tocsin_Result::failure( $this->settings->connection_problem() );
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
	 * Posts what was signed. Other plugins may filter requests; body and headers of this one stay as they are, or the signature would be wrong.
	 * Only of this one: a plugin that writes requests down somewhere else makes a request of its own meanwhile, which must not get the key.
	 * Redirects are not followed, because WordPress would send the key along to wherever they lead.
	 *
	 * A gateway on the own network is legitimate and its address set by an administrator, so this is not the variant for unsafe addresses.
	 *
	 * @param string $url  The gateway.
	 * @param array  $args The request.
	 */
	private function post( string $url, array $args ): Tocsin_Result {
		$kept = array_intersect_key( $args, array_flip( array( 'method', 'redirection', 'headers', 'body' ) ) );
		$keep = static fn( $filtered, $to = '' ) => $to === $url ? $kept + (array) $filtered : $filtered;
		add_filter( 'http_request_args', $keep, PHP_INT_MAX, 2 );
		try {
			return Tocsin_Result::from_response( Tocsin_Listener::without_events( static fn() => wp_remote_post( $url, $args ) ) );
		} catch ( Throwable $problem ) {
			/* translators: %s: class name of an error. */
			return Tocsin_Result::failure( sprintf( __( 'Another plugin interrupted the request (%s).', 'tocsin' ), Tocsin_Object_Fields::class_name( $problem ) ) );
		} finally {
			remove_filter( 'http_request_args', $keep, PHP_INT_MAX );
		}
	}
}
