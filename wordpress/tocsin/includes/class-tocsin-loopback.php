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
	const USED = 'tocsin_loopback_used';

	/** Until when no loop-back is tried, because the last one did not get through. */
	const BLOCKED = 'tocsin_loopback_blocked';

	const VALID_MS = 60000;
	const SKEW_MS  = 5000;

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
		add_action( 'wp_ajax_' . self::ACTION, array( $this, 'answer' ) );
		add_action( 'wp_ajax_nopriv_' . self::ACTION, array( $this, 'answer' ) );
	}

	/**
	 * Starts a run and does not wait for it. At most once in a request.
	 */
	public function kick(): void {
		if ( $this->kicked || (int) get_option( self::BLOCKED ) > Tocsin_Queue::now() ) {
			return;
		}
		$this->kicked = true;
		$uploaded     = null;
		$address      = admin_url( 'admin-ajax.php' );
		// With cURL, "non-blocking" still waits for an answer, for up to a second. So let go as soon as the request is on its way.
		$let_go = static function ( $handle, $args = null, $url = '' ) use ( &$uploaded, $address ) {
			if ( $url !== $address ) {
				return;
			}
			$uploaded = false;
			curl_setopt( $handle, CURLOPT_CONNECTTIMEOUT_MS, 250 ); // phpcs:ignore WordPress.WP.AlternativeFunctions
			curl_setopt( $handle, CURLOPT_NOPROGRESS, false ); // phpcs:ignore WordPress.WP.AlternativeFunctions
			curl_setopt( // phpcs:ignore WordPress.WP.AlternativeFunctions
				$handle,
				CURLOPT_PROGRESSFUNCTION,
				static function ( $handle, $download_total, $downloaded, $upload_total, $upload_done ) use ( &$uploaded ) {
					$uploaded = $upload_total > 0 && $upload_done >= $upload_total;
					return $uploaded ? 1 : 0;
				}
			);
		};
		add_action( 'http_api_curl', $let_go, PHP_INT_MAX, 3 );
		$verify = apply_filters( 'https_local_ssl_verify', false ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress's own.
		$answer = wp_remote_post(
			$address,
			array(
				'timeout'     => 0.01,
				'blocking'    => false,
				'redirection' => 0,
				'sslverify'   => $verify,
				'headers'     => self::credentials(),
				'body'        => array(
					'action' => self::ACTION,
					'token'  => self::token( Tocsin_Queue::now() ),
				),
			)
		);
		remove_action( 'http_api_curl', $let_go, PHP_INT_MAX );
		// A command may run where the site's address does not lead to the site; that says nothing about pages.
		if ( ( false === $uploaded || is_wp_error( $answer ) ) && 'cli' !== PHP_SAPI ) {
			update_option( self::BLOCKED, Tocsin_Queue::now() + HOUR_IN_SECONDS * 1000, true );
		}
	}

	/**
	 * What the visitor proved to a web server that lets nobody in without a password: the site itself stands before the same door.
	 */
	private static function credentials(): array {
		if ( ! isset( $_SERVER['PHP_AUTH_USER'], $_SERVER['PHP_AUTH_PW'] ) ) {
			return array();
		}
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput, WordPress.PHP.DiscouragedPHPFunctions -- Handed on as it came, in the form that HTTP asks for.
		return array( 'Authorization' => 'Basic ' . base64_encode( wp_unslash( $_SERVER['PHP_AUTH_USER'] ) . ':' . wp_unslash( $_SERVER['PHP_AUTH_PW'] ) ) );
	}

	/**
	 * Answers the loop-back: runs, if the token is good.
	 */
	public function answer(): void {
		$token = isset( $_POST['token'] ) && is_string( $_POST['token'] ) ? sanitize_text_field( wp_unslash( $_POST['token'] ) ) : ''; // phpcs:ignore WordPress.Security.NonceVerification -- the token stands for it.
		if ( ! self::is_good( $token ) ) {
			status_header( 403 );
			exit;
		}
		Tocsin_Listener::quietly( static fn() => update_option( self::USED, (int) $token, false ) );
		status_header( 204 );
		call_user_func( $this->run );
		exit;
	}

	/**
	 * Whether a token is the site's own, not old, and newer than every one that was used. The clocks of two servers may differ a little.
	 *
	 * @param string $token What was sent.
	 */
	private static function is_good( string $token ): bool {
		$at  = (int) $token;
		$age = Tocsin_Queue::now() - $at;
		return hash_equals( self::token( $at ), $token ) && $age > -self::SKEW_MS && $age <= self::VALID_MS && $at > (int) get_option( self::USED );
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
