<?php
/**
 * Events of this request.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Collects the events of one request, so that the page pays for one INSERT at its very end, or for nothing at all.
 */
class Tocsin_Event_Buffer {

	/** So many different events are written at once, also before the request ends. */
	const MAX_EVENTS = 100;

	/** So is so much text: a database may take no statement over 1 MB, and what is written has more backslashes. */
	const MAX_BYTES = 200000;

	/**
	 * Writes events of the current site.
	 *
	 * @var callable
	 */
	private $write;

	/**
	 * Events by site and by what they say.
	 *
	 * @var array[][]
	 */
	private $pending = array();

	/**
	 * How much text that is.
	 *
	 * @var int
	 */
	private $bytes = 0;

	/**
	 * Whether the end of the request is already watched.
	 *
	 * @var bool
	 */
	private $watching = false;

	/**
	 * Starts empty.
	 *
	 * @param callable $write Writes a list of events to the current site's table, or throws.
	 */
	public function __construct( callable $write ) {
		$this->write = $write;
	}

	/**
	 * Takes an event; one that says the same as another of this request is only counted.
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
	 * Writes what was added.
	 */
	public function flush(): void {
		$pending       = $this->pending;
		$this->pending = array();
		$this->bytes   = 0;
		if ( $pending && doing_action( 'shutdown' ) ) {
			// A visitor who has left ends the script with its next output; what follows there still has to start the sending.
			ignore_user_abort( true );
		}
		foreach ( $pending as $site => $events ) {
			$elsewhere = get_current_blog_id() !== $site;
			if ( $elsewhere && ! get_site( $site ) ) {
				// Deleted meanwhile; writing would make its table anew.
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
	 * Writes, or says in the log that it could not be done. WordPress itself would put the whole statement there, with what people wrote.
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
				// The table may be missing, or its character set may not know emoji.
				Tocsin_Install::create_table();
				call_user_func( $this->write, array_map( array( __CLASS__, 'without_emoji' ), $events ) );
			}
		} catch ( Throwable $error ) {
			self::log_loss( count( $events ), $error );
		}
		$wpdb->suppress_errors( $suppressed );
	}

	/**
	 * Sees to it that the end of the request writes: before the connection may be closed, once more for what other plugins do at the
	 * end, and after a fatal error.
	 */
	private function hook_flush(): void {
		if ( $this->watching ) {
			return;
		}
		$this->watching = true;
		add_action( 'shutdown', array( $this, 'flush' ), PHP_INT_MIN );
		register_shutdown_function( array( $this, 'flush' ) );
	}

	/**
	 * The event with every field, in the lengths that the gateway keeps.
	 *
	 * @param array $event As given to add().
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
	 * Text that every database takes.
	 *
	 * @param mixed $value What a template made.
	 */
	private static function text( $value ): string {
		return is_scalar( $value ) ? Tocsin_Text::sanitize( str_replace( "\0", '', (string) $value ) ) : '';
	}

	/**
	 * The event with how often it happened, where that was more than once.
	 *
	 * @param array $event Event.
	 */
	private static function with_count( array $event ): array {
		if ( $event['times'] > 1 ) {
			// An argument of that name stays what it is.
			$event['payload'] += array( 'count' => $event['times'] );
		}
		return $event;
	}

	/**
	 * The event without characters outside the basic plane.
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
	 * Says what went wrong, without what the events say.
	 *
	 * @param int       $events How many are lost.
	 * @param Throwable $error  Why.
	 */
	private static function log_loss( int $events, Throwable $error ): void {
		error_log( sprintf( 'Tocsin: %d events could not be queued and are lost (%s in %s:%d). If the table is missing, deactivate and reactivate the plugin.', $events, get_class( $error ), basename( $error->getFile() ), $error->getLine() ) ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions
	}

	/**
	 * A random UUID. Not wp_generate_uuid4(): its generator has 32 bits of seed, and two events with one key would be one.
	 */
	public static function uuid(): string {
		$bytes    = random_bytes( 16 );
		$bytes[6] = chr( ( ord( $bytes[6] ) & 0x0f ) | 0x40 );
		$bytes[8] = chr( ( ord( $bytes[8] ) & 0x3f ) | 0x80 );
		return vsprintf( '%s%s-%s-%s-%s-%s%s%s', str_split( bin2hex( $bytes ), 4 ) );
	}
}
