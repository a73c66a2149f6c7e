<?php
/**
 * Result of a request to the gateway.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * The gateway's response, or the reason why there is none, with a message for the user.
 */
final class Tocsin_Result {
	/**
	 * Statuses that reject the content of a request. Retrying is useless, whatever the settings.
	 */
	const FINAL_STATUSES = array( 400, 409, 413, 415, 422 );

	/**
	 * HTTP status; 0 without a response.
	 *
	 * @var int
	 */
	private int $status;

	/**
	 * Decoded JSON body of the response.
	 *
	 * @var array
	 */
	private array $body;

	/**
	 * Message for the user.
	 *
	 * @var string
	 */
	private string $message;

	/**
	 * Value of Retry-After in seconds; 0 without one.
	 *
	 * @var int
	 */
	private int $retry_after;

	/**
	 * Use from_response() or failure().
	 *
	 * @param int    $status      HTTP status.
	 * @param array  $body        Decoded JSON body.
	 * @param string $message     Message for the user.
	 * @param int    $retry_after Seconds.
	 */
	private function __construct( int $status, array $body, string $message, int $retry_after = 0 ) {
		$this->status      = $status;
		$this->body        = $body;
		$this->message     = $message;
		$this->retry_after = $retry_after;
	}

	/**
	 * Creates a retryable result without a response.
	 *
	 * @param string $message Reason, as a message for the user.
	 */
	public static function failure( string $message ): self {
		return new self( 0, array(), $message );
	}

	/**
	 * Creates a result from the return value of wp_remote_post().
	 *
	 * @param array|WP_Error $response The response.
	 */
	public static function from_response( $response ): self {
		if ( is_wp_error( $response ) ) {
			/* translators: %s: error message of the HTTP library. */
			return self::failure( sprintf( __( 'The gateway is unreachable: %s', 'tocsin' ), $response->get_error_message() ) . self::tls_hint( $response->get_error_message() ) );
		}
		$status = (int) wp_remote_retrieve_response_code( $response );
		$body   = json_decode( wp_remote_retrieve_body( $response ), true, 32 );
		$body   = is_array( $body ) ? $body : array();
		return new self( $status, $body, self::explain( $status, $body ), self::parse_retry_after( wp_remote_retrieve_header( $response, 'retry-after' ) ) );
	}

	/**
	 * Returns a hint for the TLS error of a server that speaks plain HTTP.
	 *
	 * @param string $problem Error message of the HTTP library.
	 */
	private static function tls_hint( string $problem ): string {
		return false === stripos( $problem, 'wrong version number' ) ? '' : ' ' . __( 'The gateway does not seem to support HTTPS at this address. Try http:// instead.', 'tocsin' );
	}

	/**
	 * Parses Retry-After to seconds, at most an hour.
	 *
	 * @param mixed $header Seconds or an HTTP date.
	 */
	private static function parse_retry_after( $header ): int {
		if ( ! is_string( $header ) || '' === $header ) {
			return 0;
		}
		$seconds = ctype_digit( $header ) ? (int) $header : (int) strtotime( $header ) - time();
		return max( 0, min( HOUR_IN_SECONDS, $seconds ) );
	}

	/**
	 * Returns the gateway's error code; empty on success or if the response is not from a gateway.
	 *
	 * @param array $body Decoded JSON body.
	 */
	private static function error_code( array $body ): string {
		return is_string( $body['code'] ?? null ) ? $body['code'] : '';
	}

	/**
	 * Returns a message that explains the response and what to do.
	 *
	 * @param int   $status HTTP status.
	 * @param array $body   Decoded JSON body.
	 */
	private static function explain( int $status, array $body ): string {
		if ( $status >= 200 && $status < 300 && true === ( $body['ok'] ?? null ) ) {
			return __( 'The gateway accepted the notification.', 'tocsin' );
		}
		$error = is_string( $body['error'] ?? null ) ? mb_substr( $body['error'], 0, 200 ) : '';
		switch ( self::error_code( $body ) ) {
			case 'invalid_api_key':
			case 'authorization_required':
				return __( 'Invalid API key. Enter a key that exists on the gateway and is neither expired nor revoked.', 'tocsin' );
			case 'key_type_not_allowed':
				return __( 'Keys of this type cannot send notifications. Enter a key of the type public_client or internal_service.', 'tocsin' );
			case 'origin_not_allowed':
				/* translators: %s: the site's host. */
				return sprintf( __( 'The API key does not allow this site. Create a new key with %s among its allowed domains, or without allowed domains.', 'tocsin' ), Tocsin_Client::source() );
			case 'invalid_signature':
				return __( 'The gateway rejected the signature. The clocks of this server and of the gateway must agree to within five minutes.', 'tocsin' );
			case 'rate_limited':
				return __( 'Rate limit of the gateway exceeded.', 'tocsin' );
		}
		if ( '' === $error ) {
			/* translators: %d: HTTP status. */
			return sprintf( __( 'Unexpected response (status %d): this does not look like a Tocsin gateway. Check the address.', 'tocsin' ), $status );
		}
		/* translators: 1: HTTP status, 2: error message of the gateway. */
		$message = sprintf( __( 'The gateway responded with status %1$d: %2$s', 'tocsin' ), $status, $error );
		return 404 === $status ? $message . ' ' . __( 'Check that this is the address of the API, not of the inbox. A path is rarely needed.', 'tocsin' ) : $message;
	}

	/**
	 * Whether the gateway accepted the notification. Status 200 is not enough: it may come from any web page.
	 */
	public function is_accepted(): bool {
		return $this->status >= 200 && $this->status < 300 && true === ( $this->body['ok'] ?? null );
	}

	/**
	 * Whether a retry is useless.
	 *
	 * A wrong key or address is retryable: it can be corrected while the event waits.
	 */
	public function is_final(): bool {
		switch ( self::error_code( $this->body ) ) {
			case 'idempotency_in_progress':
				return false;
			case 'mqtt_publish_failed':
				// The gateway has stored the notification nevertheless.
				return true;
			case '':
				// Without an error code the response is from a proxy or firewall, and says nothing about the content.
				return $this->is_accepted();
		}
		return $this->is_accepted() || in_array( $this->status, self::FINAL_STATUSES, true );
	}

	/**
	 * Returns the HTTP status; 0 without a response.
	 */
	public function status(): int {
		return $this->status;
	}

	/**
	 * Returns a message for the user: what happened and what to do.
	 */
	public function message(): string {
		return $this->message;
	}

	/**
	 * Returns the value of Retry-After in seconds; 0 without one.
	 */
	public function retry_after(): int {
		return $this->retry_after;
	}

	/**
	 * Returns the decoded JSON body; empty without one.
	 */
	public function body(): array {
		return $this->body;
	}
}
