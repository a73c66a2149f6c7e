<?php
/**
 * Buffer for the events of a request.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Collects the events of one request, so that a page costs a single INSERT at its end, or none.
 */
class Tocsin_Event_Buffer {

	/** Number of buffered events that triggers a flush before the request ends. */
	const MAX_EVENTS = 100;

	/** Number of buffered bytes that triggers a flush: statements may be limited to 1 MB, and escaping makes them longer. */
	const MAX_BYTES = 200000;

	/**
	 * Inserts events into the current site's table.
	 *
	 * @var callable
	 */
	private $write;

	/**
	 * Buffered events by site and by content hash.
	 *
	 * @var array[][]
	 */
	private $pending = array();

	/**
	 * Size of the buffered events in bytes.
	 *
	 * @var int
	 */
	private $bytes = 0;

	/**
	 * Whether the flush at shutdown is registered.
	 *
	 * @var bool
	 */
	private $is_flush_hooked = false;

	/**
	 * Creates an empty buffer.
	 *
	 * @param callable $write Inserts a list of events into the current site's table, or throws.
	 */
	public function __construct( callable $write ) {
		$this->write = $write;
	}

	/**
	 * Buffers an event. Events with the same content within a request are merged and counted.
	 *
	 * @param array $event template_id, title, body, severity, category, payload, occurred_at.
	 */
	public function add( array $event ): void {
		try {
			$event = self::normalize( $event );
			$same  = $event;
			unset( $same['occurred_at'] );
			$text = serialize( $same ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions
			$hash = md5( $text );
			$site = get_current_blog_id();
			if ( isset( $this->pending[ $site ][ $hash ] ) ) {
				++$this->pending[ $site ][ $hash ]['times'];
				return;
			}
			$this->pending[ $site ][ $hash ] = $event + array(
				'times'           => 1,
				'idempotency_key' => self::uuid(),
			);

			$this->bytes += strlen( $text );
			$this->hook_flush();
			if ( count( $this->pending[ $site ] ) >= self::MAX_EVENTS || $this->bytes >= self::MAX_BYTES ) {
				$this->flush();
			}
		} catch ( Throwable $error ) {
			self::log_loss( 1, $error );
		}
	}

	/**
	 * Writes the buffered events to the tables of their sites.
	 */
	public function flush(): void {
		$pending       = $this->pending;
		$this->pending = array();
		$this->bytes   = 0;
		if ( $pending && doing_action( 'shutdown' ) ) {
			// If the client has disconnected, PHP would end the script at its next output, before sending is started.
			ignore_user_abort( true );
		}
		foreach ( $pending as $site => $events ) {
			$elsewhere = get_current_blog_id() !== $site;
			if ( $elsewhere && ! get_site( $site ) ) {
				// The site has been deleted; writing would create its table again.
				continue;
			}
			if ( $elsewhere ) {
				switch_to_blog( $site );
			}
			$this->write_or_log( array_map( array( __CLASS__, 'with_count' ), array_values( $events ) ) );
			if ( $elsewhere ) {
				restore_current_blog();
			}
		}
	}

	/**
	 * Writes events, or logs the failure without their content. WordPress's own error log would contain the whole statement.
	 *
	 * @param array[] $events Events of the current site.
	 */
	private function write_or_log( array $events ): void {
		global $wpdb;
		$suppressed = $wpdb->suppress_errors( true );
		try {
			try {
				call_user_func( $this->write, $events );
			} catch ( RuntimeException $error ) {
				// The table may be missing, or its character set may not support emoji.
				Tocsin_Install::create_table();
				call_user_func( $this->write, array_map( array( __CLASS__, 'without_emoji' ), $events ) );
			}
		} catch ( Throwable $error ) {
			self::log_loss( count( $events ), $error );
		}
		$wpdb->suppress_errors( $suppressed );
	}

	/**
	 * Registers the flush at shutdown: first in the action, before the response may be finished, and again as a shutdown function for
	 * events of other plugins' shutdown callbacks and after a fatal error.
	 */
	private function hook_flush(): void {
		if ( $this->is_flush_hooked ) {
			return;
		}
		$this->is_flush_hooked = true;
		add_action( 'shutdown', array( $this, 'flush' ), PHP_INT_MIN );
		register_shutdown_function( array( $this, 'flush' ) );
	}

	/**
	 * Returns the event with all fields, truncated to the limits of the gateway.
	 *
	 * @param array $event As passed to add().
	 */
	private static function normalize( array $event ): array {
		return array(
			'template_id' => mb_substr( self::text( $event['template_id'] ?? '' ), 0, 191 ),
			'title'       => mb_substr( self::text( $event['title'] ?? '' ), 0, 140 ),
			'body'        => mb_substr( self::text( $event['body'] ?? '' ), 0, 2000 ),
			'severity'    => mb_substr( self::text( $event['severity'] ?? '' ), 0, 20 ),
			'category'    => mb_substr( self::text( $event['category'] ?? 'info' ), 0, 20 ),
			'payload'     => isset( $event['payload'] ) && is_array( $event['payload'] ) ? $event['payload'] : array(),
			'occurred_at' => (int) ( $event['occurred_at'] ?? Tocsin_Queue::now() ),
		);
	}

	/**
	 * Converts a value to a string that every database accepts.
	 *
	 * @param mixed $value Any value.
	 */
	private static function text( $value ): string {
		return is_scalar( $value ) ? Tocsin_Text::sanitize( str_replace( "\0", '', (string) $value ) ) : '';
	}

	/**
	 * Adds the number of merged events to the payload, if greater than one.
	 *
	 * @param array $event Event.
	 */
	private static function with_count( array $event ): array {
		if ( $event['times'] > 1 ) {
			// An argument with that name is not overwritten.
			$event['payload'] += array( 'count' => $event['times'] );
		}
		return $event;
	}

	/**
	 * Replaces characters outside the Basic Multilingual Plane.
	 *
	 * @param array $event Event.
	 */
	private static function without_emoji( array $event ): array {
		foreach ( array( 'title', 'body' ) as $field ) {
			$event[ $field ] = (string) preg_replace( '/[\x{10000}-\x{10FFFF}]/u', "\u{FFFD}", $event[ $field ] );
		}
		return $event;
	}

	/**
	 * Logs the loss of events without their content.
	 *
	 * @param int       $events Number of lost events.
	 * @param Throwable $error  The cause.
	 */
	private static function log_loss( int $events, Throwable $error ): void {
		error_log( sprintf( 'Tocsin: %d events could not be queued and are lost (%s in %s:%d). If the table is missing, deactivate and reactivate the plugin.', $events, get_class( $error ), basename( $error->getFile() ), $error->getLine() ) ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions
	}

	/**
	 * Returns a random UUID. Not wp_generate_uuid4(): its generator is seeded with 32 bits, and a collision would drop an event.
	 */
	public static function uuid(): string {
		$bytes    = random_bytes( 16 );
		$bytes[6] = chr( ( ord( $bytes[6] ) & 0x0f ) | 0x40 );
		$bytes[8] = chr( ( ord( $bytes[8] ) & 0x3f ) | 0x80 );
		return vsprintf( '%s%s-%s-%s-%s-%s%s%s', str_split( bin2hex( $bytes ), 4 ) );
	}
}
