<?php
/**
 * What became of a call.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * The gateway's answer, or why there is none, and what to do next.
 */
final class Tocsin_Result {
	/**
	 * The same request will be refused again, whatever the owner mends: its content is at fault.
	 */
	const FINAL_STATUSES = array( 400, 409, 413, 415, 422 );

	/**
	 * The HTTP status; 0 when there was no answer.
	 *
	 * @var int
	 */
	private int $status;

	/**
	 * The answer's JSON.
	 *
	 * @var array
	 */
	private array $answer;

	/**
	 * For people.
	 *
	 * @var string
	 */
	private string $message;

	/**
	 * Seconds that the gateway asks to wait.
	 *
	 * @var int
	 */
	private int $retry_after;

	/**
	 * Use from_response() or failure().
	 *
	 * @param int    $status      The HTTP status.
	 * @param array  $answer      The answer's JSON.
	 * @param string $message     For people.
	 * @param int    $retry_after Seconds.
	 */
	private function __construct( int $status, array $answer, string $message, int $retry_after = 0 ) {
		$this->status      = $status;
		$this->answer      = $answer;
		$this->message     = $message;
		$this->retry_after = $retry_after;
	}

	/**
	 * There was no answer. It will be tried again.
	 *
	 * @param string $message Why, for people.
	 */
	public static function failure( string $message ): self {
		return new self( 0, array(), $message );
	}

	/**
	 * Reads what wp_remote_post() returned.
	 *
	 * @param array|WP_Error $response The answer.
	 */
	public static function from_response( $response ): self {
		if ( is_wp_error( $response ) ) {
			/* translators: %s: error message of the HTTP library. */
			return self::failure( sprintf( __( 'The gateway is unreachable: %s', 'tocsin' ), $response->get_error_message() ) . self::tls_hint( $response->get_error_message() ) );
		}
		$status = (int) wp_remote_retrieve_response_code( $response );
		$answer = json_decode( wp_remote_retrieve_body( $response ), true, 32 );
		$answer = is_array( $answer ) ? $answer : array();
		return new self( $status, $answer, self::explain( $status, $answer ), self::parse_retry_after( wp_remote_retrieve_header( $response, 'retry-after' ) ) );
	}

	/**
	 * What to do about words of the network that few people understand.
	 *
	 * @param string $problem What went wrong.
	 */
	private static function tls_hint( string $problem ): string {
		return false === stripos( $problem, 'wrong version number' ) ? '' : ' ' . __( 'The gateway does not seem to support HTTPS at this address. Try http:// instead.', 'tocsin' );
	}

	/**
	 * Retry-After in seconds, an hour at most.
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
	 * The gateway's code for what went wrong; empty when it was not the gateway that answered, or nothing went wrong.
	 *
	 * @param array $answer The answer's JSON.
	 */
	private static function error_code( array $answer ): string {
		return is_string( $answer['code'] ?? null ) ? $answer['code'] : '';
	}

	/**
	 * What the answer means, and what to do.
	 *
	 * @param int   $status The HTTP status.
	 * @param array $answer The answer's JSON.
	 */
	private static function explain( int $status, array $answer ): string {
		if ( $status >= 200 && $status < 300 && true === ( $answer['ok'] ?? null ) ) {
			return __( 'The gateway accepted the notification.', 'tocsin' );
		}
		$said = is_string( $answer['error'] ?? null ) ? mb_substr( $answer['error'], 0, 200 ) : '';
		switch ( self::error_code( $answer ) ) {
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
		if ( '' === $said ) {
			/* translators: %d: HTTP status. */
			return sprintf( __( 'Unexpected response (status %d): this does not look like a Tocsin gateway. Check the address.', 'tocsin' ), $status );
		}
		/* translators: 1: HTTP status, 2: error message of the gateway. */
		$words = sprintf( __( 'The gateway responded with status %1$d: %2$s', 'tocsin' ), $status, $said );
		return 404 === $status ? $words . ' ' . __( 'Check that this is the address of the API, not of the inbox. A path is rarely needed.', 'tocsin' ) : $words;
	}

	/**
	 * Whether the gateway took it. A web page that answers 200 to anything did not.
	 */
	public function is_accepted(): bool {
		return $this->status >= 200 && $this->status < 300 && true === ( $this->answer['ok'] ?? null );
	}

	/**
	 * Whether trying again is useless.
	 *
	 * A wrong key or address is not final: the owner can mend it while the event waits.
	 */
	public function is_final(): bool {
		switch ( self::error_code( $this->answer ) ) {
			case 'idempotency_in_progress':
				return false;
			case 'mqtt_publish_failed':
				// It is stored all the same.
				return true;
			case '':
				// Whatever stands before the gateway may answer anything.
				return $this->is_accepted();
		}
		return $this->is_accepted() || in_array( $this->status, self::FINAL_STATUSES, true );
	}

	/**
	 * The HTTP status; 0 when there was no answer.
	 */
	public function status(): int {
		return $this->status;
	}

	/**
	 * What happened, and what to do, for people.
	 */
	public function message(): string {
		return $this->message;
	}

	/**
	 * How many seconds the gateway asks to wait; 0 when it does not say.
	 */
	public function retry_after(): int {
		return $this->retry_after;
	}

	/**
	 * The answer's JSON; empty when there was none.
	 */
	public function response(): array {
		return $this->answer;
	}
}
