<?php
/**
 * Fatal errors.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Looks at the end of a request whether a fatal error ended it.
 *
 * WordPress has no hook for that: its own handler shows the page with the error and mails a link at most once a day.
 * It does run the action `shutdown` afterwards. By then a notice from that page may stand in the place of the error, so
 * the error is kept when the page begins.
 */
final class Tocsin_Fatal_Errors {
	const TYPES = array( E_ERROR, E_PARSE, E_CORE_ERROR, E_COMPILE_ERROR, E_USER_ERROR, E_RECOVERABLE_ERROR );

	/**
	 * The registry, for an error before templates were collected.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * The error that WordPress shows a page for, as error_get_last() has it.
	 *
	 * @var mixed
	 */
	private $shown = null;

	/**
	 * Takes the registry.
	 *
	 * @param Tocsin_Templates $templates The registry.
	 */
	public function __construct( Tocsin_Templates $templates ) {
		$this->templates = $templates;
	}

	/**
	 * Before everything else at the end: the queue is written later then.
	 */
	public function register(): void {
		add_filter( 'wp_php_error_message', array( $this, 'remember_error' ), PHP_INT_MIN, 2 );
		add_action( 'shutdown', array( $this, 'report' ), PHP_INT_MIN );
	}

	/**
	 * WordPress begins its page about an error.
	 *
	 * @param mixed $message What the page will say; passed through.
	 * @param mixed $error   The error.
	 * @return mixed The message.
	 */
	public function remember_error( $message, $error = null ) {
		$this->shown = $error;
		return $message;
	}

	/**
	 * Fires the companion's own hook when a fatal error ended the request.
	 */
	public function report(): void {
		// Where WordPress shows no page of its own (one had begun, or php-error.php stands in), PHP's last error is all there is.
		$error = is_array( $this->shown ) ? $this->shown : error_get_last();
		if ( null === $error || ! in_array( $error['type'], self::TYPES, true ) ) {
			return;
		}
		// WordPress tries out what somebody typed into its editor of plugins; an error there is shown to that person.
		if ( defined( 'WP_SANDBOX_SCRAPING' ) && WP_SANDBOX_SCRAPING ) {
			return;
		}
		// A page that used up all memory leaves none for this.
		if ( false !== strpos( $error['message'], 'Allowed memory size' ) ) {
			wp_raise_memory_limit( 'admin' );
		}
		$this->collect_templates();
		// The lines behind the first are the stack, whose arguments may be anything.
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
	 * A text without the folder that the site lies in, which is nobody's business. Windows writes it with backslashes.
	 *
	 * @param string $text A message or a path.
	 */
	private static function strip_site_path( string $text ): string {
		$folder = wp_normalize_path( ABSPATH );
		return str_replace( array( ABSPATH, $folder, str_replace( '/', '\\', $folder ) ), '', $text );
	}

	/**
	 * An error may come before templates were collected, and before WordPress wants translations to be asked for; its notice about that helps nobody now.
	 */
	private function collect_templates(): void {
		add_filter( 'doing_it_wrong_trigger_error', '__return_false' );
		$this->templates->collect();
		remove_filter( 'doing_it_wrong_trigger_error', '__return_false' );
	}

	/**
	 * Whether this error was not told of within the last hour.
	 *
	 * @param mixed $error With file and line.
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
	 * Which page broke, without what stands behind the question mark.
	 */
	private static function request_path(): string {
		$path = isset( $_SERVER['REQUEST_URI'] ) ? esc_url_raw( wp_unslash( $_SERVER['REQUEST_URI'] ) ) : '';
		return '' === $path ? __( 'command line', 'tocsin' ) : (string) strtok( $path, '?' );
	}
}
