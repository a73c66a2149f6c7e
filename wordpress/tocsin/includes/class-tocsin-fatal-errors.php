<?php
/**
 * Detection of fatal errors.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Checks at shutdown whether a fatal error ended the request.
 *
 * WordPress has no hook for that: its own handler shows an error page and sends at most one email a day. It does fire
 * the action `shutdown` afterwards. By then a notice raised by the error page may have replaced PHP's last error, so the
 * error is remembered when the error page starts.
 */
final class Tocsin_Fatal_Errors {
	const TYPES = array( E_ERROR, E_PARSE, E_CORE_ERROR, E_COMPILE_ERROR, E_USER_ERROR, E_RECOVERABLE_ERROR );

	/**
	 * Template registry, for errors that occur before templates are collected.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * The error for which WordPress shows its error page, in the format of error_get_last().
	 *
	 * @var mixed
	 */
	private $handled_error = null;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Templates $templates The registry.
	 */
	public function __construct( Tocsin_Templates $templates ) {
		$this->templates = $templates;
	}

	/**
	 * Registers the hooks. Runs first at shutdown, so that the queue is flushed afterwards.
	 */
	public function register(): void {
		add_filter( 'wp_php_error_message', array( $this, 'remember_error' ), PHP_INT_MIN, 2 );
		add_action( 'shutdown', array( $this, 'report' ), PHP_INT_MIN );
	}

	/**
	 * Remembers the error when WordPress starts its error page.
	 *
	 * @param mixed $message Message of the error page; passed through.
	 * @param mixed $error   The error.
	 * @return mixed The message.
	 */
	public function remember_error( $message, $error = null ) {
		$this->handled_error = $error;
		return $message;
	}

	/**
	 * Fires the action `tocsin_fatal_error` if a fatal error ended the request.
	 */
	public function report(): void {
		// WordPress shows no error page if output has started or php-error.php replaces it; then only PHP's last error is available.
		$error = is_array( $this->handled_error ) ? $this->handled_error : error_get_last();
		if ( null === $error || ! in_array( $error['type'], self::TYPES, true ) ) {
			return;
		}
		// The plugin editor of WordPress tests edited code in a sandbox and shows the error to the user.
		if ( defined( 'WP_SANDBOX_SCRAPING' ) && WP_SANDBOX_SCRAPING ) {
			return;
		}
		// Reporting needs some memory after the limit was exhausted.
		if ( false !== strpos( $error['message'], 'Allowed memory size' ) ) {
			wp_raise_memory_limit( 'admin' );
		}
		$this->collect_templates();
		// Only the first line: the stack trace may contain secrets in arguments.
		$message = strtok( $error['message'], "\n" );
		do_action(
			'tocsin_fatal_error',
			array(
				'message' => self::strip_site_path( (string) $message ),
				'file'    => self::strip_site_path( $error['file'] ),
				'line'    => $error['line'],
			),
			self::request_path()
		);
	}

	/**
	 * Removes the site's path on the server, which must not be disclosed. Windows paths may contain backslashes.
	 *
	 * @param string $text A message or a path.
	 */
	private static function strip_site_path( string $text ): string {
		$folder = wp_normalize_path( ABSPATH );
		return str_replace( array( ABSPATH, $folder, str_replace( '/', '\\', $folder ) ), '', $text );
	}

	/**
	 * Collects templates if the error occurred before `init`. WordPress's notice about loading translations too early is suppressed.
	 */
	private function collect_templates(): void {
		add_filter( 'doing_it_wrong_trigger_error', '__return_false' );
		$this->templates->collect();
		remove_filter( 'doing_it_wrong_trigger_error', '__return_false' );
	}

	/**
	 * Whether this error has not been reported within the last hour.
	 *
	 * @param mixed $error Array with file and line.
	 */
	public static function should_notify( $error ): bool {
		$name = 'tocsin_fatal_' . md5( $error['file'] . ':' . $error['line'] );
		if ( false !== get_transient( $name ) ) {
			return false;
		}
		set_transient( $name, 1, HOUR_IN_SECONDS );
		return true;
	}

	/**
	 * Returns the path of the request without the query string.
	 */
	private static function request_path(): string {
		$path = isset( $_SERVER['REQUEST_URI'] ) ? esc_url_raw( wp_unslash( $_SERVER['REQUEST_URI'] ) ) : '';
		return '' === $path ? __( 'command line', 'tocsin' ) : (string) strtok( $path, '?' );
	}
}
