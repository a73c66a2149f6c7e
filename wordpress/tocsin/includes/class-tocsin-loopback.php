<?php
/**
 * Loopback request.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Starts a run in a separate process by a request of the site to itself, for servers that cannot finish a response before the script ends.
 */
class Tocsin_Loopback {

	const ACTION = 'tocsin_run';

	/** Option with the timestamp of the last used token; older tokens are rejected. */
	const LAST_TOKEN = 'tocsin_loopback_used';

	/** Option with the time until which no loopback request is attempted, because the last one failed. */
	const BLOCKED_UNTIL = 'tocsin_loopback_blocked';

	const TOKEN_LIFETIME_MS = 60000;
	const MAX_SKEW_MS       = 5000;
	const BLOCKED_MS        = 600000;

	/**
	 * Sends due events.
	 *
	 * @var callable
	 */
	private $run;

	/**
	 * Whether this request has already started a run.
	 *
	 * @var bool
	 */
	private $is_started = false;

	/**
	 * Registers the hooks.
	 *
	 * @param callable $run Sends due events.
	 */
	public function register( callable $run ): void {
		$this->run = $run;
		add_action( 'wp_ajax_' . self::ACTION, array( $this, 'handle_request' ) );
		add_action( 'wp_ajax_nopriv_' . self::ACTION, array( $this, 'handle_request' ) );
	}

	/**
	 * Starts a run without waiting for it, at most once per request.
	 *
	 * @return bool False if it could not be started.
	 */
	public function start(): bool {
		if ( $this->is_started ) {
			return true;
		}
		$blocked = (int) get_option( self::BLOCKED_UNTIL ) - Tocsin_Queue::now();
		if ( $blocked > 0 && $blocked <= self::BLOCKED_MS ) {
			return false;
		}
		$this->is_started = true;
		/**
		 * Filters the loopback request. Change the URL if the site cannot reach itself at its own address, as in some containers.
		 * Return false to disable the request and leave sending to WP-Cron.
		 *
		 * @param array $request With url (string) and headers (values by name).
		 */
		$request = apply_filters(
			'tocsin_loopback_request',
			array(
				'url'     => admin_url( 'admin-ajax.php' ),
				'headers' => self::credentials(),
			)
		);
		if ( ! is_array( $request ) || ! is_string( $request['url'] ?? null ) ) {
			return false;
		}
		$is_sent = Tocsin_Async_Request::send(
			$request['url'],
			array_filter( (array) ( $request['headers'] ?? array() ), 'is_string' ),
			array(
				'action' => self::ACTION,
				'token'  => self::token( Tocsin_Queue::now() ),
			)
		);
		// On the command line the site's address may not resolve to the site; that says nothing about pages.
		if ( ! $is_sent && 'cli' !== PHP_SAPI ) {
			update_option( self::BLOCKED_UNTIL, Tocsin_Queue::now() + self::BLOCKED_MS, true );
		}
		return $is_sent;
	}

	/**
	 * Returns the visitor's HTTP Basic credentials as a header, because a web server that requires them also requires them for the loopback
	 * request. Only for the host that the visitor sent them to: the site's address is a setting and may point elsewhere.
	 */
	private static function credentials(): array {
		if ( ! isset( $_SERVER['PHP_AUTH_USER'], $_SERVER['PHP_AUTH_PW'], $_SERVER['HTTP_HOST'] ) ) {
			return array();
		}
		$requested = wp_parse_url( admin_url(), PHP_URL_SCHEME ) . '://' . sanitize_text_field( wp_unslash( $_SERVER['HTTP_HOST'] ) );
		if ( Tocsin_Gateway_Url::origin( $requested ) !== Tocsin_Gateway_Url::origin( admin_url() ) ) {
			return array();
		}
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput, WordPress.PHP.DiscouragedPHPFunctions -- Forwarded unchanged, in the encoding that HTTP requires.
		return array( 'Authorization' => 'Basic ' . base64_encode( wp_unslash( $_SERVER['PHP_AUTH_USER'] ) . ':' . wp_unslash( $_SERVER['PHP_AUTH_PW'] ) ) );
	}

	/**
	 * Handles the loopback request: starts a run if the token is valid.
	 */
	public function handle_request(): void {
		$token = isset( $_POST['token'] ) && is_string( $_POST['token'] ) ? sanitize_text_field( wp_unslash( $_POST['token'] ) ) : ''; // phpcs:ignore WordPress.Security.NonceVerification -- The token replaces the nonce.
		if ( ! self::is_valid( $token ) ) {
			status_header( 403 );
			exit;
		}
		Tocsin_Listener::without_events( static fn() => update_option( self::LAST_TOKEN, min( (int) $token, Tocsin_Queue::now() ), false ) );
		status_header( 204 );
		call_user_func( $this->run );
		// Events of this request wait for the next run; otherwise a template that fires on every request would start runs in an endless loop.
		$this->is_started = true;
		exit;
	}

	/**
	 * Whether a token is authentic, not expired, and newer than all used ones. Clocks of two servers may differ slightly, and a used token
	 * from the future is ignored, because the clock must have been wrong.
	 *
	 * @param string $token The submitted token.
	 */
	private static function is_valid( string $token ): bool {
		$at   = (int) $token;
		$now  = Tocsin_Queue::now();
		$used = (int) get_option( self::LAST_TOKEN );
		return hash_equals( self::token( $at ), $token ) && $at - $now < self::MAX_SKEW_MS && $now - $at <= self::TOKEN_LIFETIME_MS && ( $at > $used || $used > $now );
	}

	/**
	 * Returns a token that proves that the request comes from the site itself.
	 *
	 * @param int $at Milliseconds since the Unix epoch.
	 */
	private static function token( int $at ): string {
		// A colon, not a dot: PHP would parse `1794736081443.9e9…` as a number with an exponent.
		return $at . ':' . hash_hmac( 'sha256', self::ACTION . '|' . get_current_blog_id() . '|' . $at, wp_salt( 'nonce' ) );
	}
}
