<?php
/**
 * A request from the site to itself.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Starts a run in a process of its own, where the server cannot end a response before the script ends.
 */
class Tocsin_Loopback {

	const ACTION = 'tocsin_run';

	/** The moment of the last token that was used; an earlier one is not taken any more. */
	const LAST_TOKEN = 'tocsin_loopback_used';

	/** Until when no loop-back is tried, because the last one did not get through. */
	const BLOCKED_UNTIL = 'tocsin_loopback_blocked';

	const TOKEN_LIFETIME_MS   = 60000;
	const MAX_SKEW_MS    = 5000;
	const BLOCKED_MS = 600000;

	/**
	 * Sends what is due.
	 *
	 * @var callable
	 */
	private $run;

	/**
	 * Whether this request has done it already.
	 *
	 * @var bool
	 */
	private $kicked = false;

	/**
	 * Attaches to WordPress.
	 *
	 * @param callable $run Sends what is due.
	 */
	public function register( callable $run ): void {
		$this->run = $run;
		add_action( 'wp_ajax_' . self::ACTION, array( $this, 'handle_request' ) );
		add_action( 'wp_ajax_nopriv_' . self::ACTION, array( $this, 'handle_request' ) );
	}

	/**
	 * Starts a run and does not wait for it. At most once in a request.
	 *
	 * @return bool False where none could be started.
	 */
	public function start(): bool {
		if ( $this->kicked ) {
			return true;
		}
		$blocked = (int) get_option( self::BLOCKED_UNTIL ) - Tocsin_Queue::now();
		if ( $blocked > 0 && $blocked <= self::BLOCKED_MS ) {
			return false;
		}
		$this->kicked = true;
		/**
		 * The request of the site to itself. Change the address where the site cannot reach itself under its own, as in some containers;
		 * return false to do without, and leave the sending to WP-Cron.
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
		// A command may run where the site's address does not lead to the site; that says nothing about pages.
		if ( ! $is_sent && 'cli' !== PHP_SAPI ) {
			update_option( self::BLOCKED_UNTIL, Tocsin_Queue::now() + self::BLOCKED_MS, true );
		}
		return $is_sent;
	}

	/**
	 * The name and password that the visitor gave to a web server that asks for them, since it asks the site itself as well. Only for the
	 * host that the visitor gave them to: the address of the site is a setting.
	 */
	private static function credentials(): array {
		if ( ! isset( $_SERVER['PHP_AUTH_USER'], $_SERVER['PHP_AUTH_PW'], $_SERVER['HTTP_HOST'] ) ) {
			return array();
		}
		$asked = wp_parse_url( admin_url(), PHP_URL_SCHEME ) . '://' . sanitize_text_field( wp_unslash( $_SERVER['HTTP_HOST'] ) );
		if ( Tocsin_Gateway_Url::origin( $asked ) !== Tocsin_Gateway_Url::origin( admin_url() ) ) {
			return array();
		}
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput, WordPress.PHP.DiscouragedPHPFunctions -- Handed on as it came, in the form that HTTP asks for.
		return array( 'Authorization' => 'Basic ' . base64_encode( wp_unslash( $_SERVER['PHP_AUTH_USER'] ) . ':' . wp_unslash( $_SERVER['PHP_AUTH_PW'] ) ) );
	}

	/**
	 * Answers the loop-back: runs, if the token is good.
	 */
	public function handle_request(): void {
		$token = isset( $_POST['token'] ) && is_string( $_POST['token'] ) ? sanitize_text_field( wp_unslash( $_POST['token'] ) ) : ''; // phpcs:ignore WordPress.Security.NonceVerification -- the token stands for it.
		if ( ! self::is_valid( $token ) ) {
			status_header( 403 );
			exit;
		}
		Tocsin_Listener::without_events( static fn() => update_option( self::LAST_TOKEN, min( (int) $token, Tocsin_Queue::now() ), false ) );
		status_header( 204 );
		call_user_func( $this->run );
		// What this request itself sets off waits for the next run: a template that hears every request would start one after the other.
		$this->kicked = true;
		exit;
	}

	/**
	 * Whether a token is the site's own, not old, and newer than every one that was used. The clocks of two servers may differ a little,
	 * and a clock that was wrong may have been put back since.
	 *
	 * @param string $token What was sent.
	 */
	private static function is_valid( string $token ): bool {
		$at   = (int) $token;
		$now  = Tocsin_Queue::now();
		$used = (int) get_option( self::LAST_TOKEN );
		return hash_equals( self::token( $at ), $token ) && $at - $now < self::MAX_SKEW_MS && $now - $at <= self::TOKEN_LIFETIME_MS && ( $at > $used || $used > $now );
	}

	/**
	 * What proves that the site itself asks.
	 *
	 * @param int $at Milliseconds.
	 */
	private static function token( int $at ): string {
		// Not a point: PHP would read `1794736081443.9e9…` as one number with an exponent.
		return $at . ':' . hash_hmac( 'sha256', self::ACTION . '|' . get_current_blog_id() . '|' . $at, wp_salt( 'nonce' ) );
	}
}
