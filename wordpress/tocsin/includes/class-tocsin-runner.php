<?php
/**
 * Queue runner.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Sends due events after a request, by schedule and by WP-CLI; one runner at a time, oldest event first.
 */
class Tocsin_Runner {

	const MAX_EVENTS  = 50;
	const MAX_RUN_MS  = 25000;
	const CLAIM_BATCH = 10;

	/**
	 * Queue of events.
	 *
	 * @var Tocsin_Queue
	 */
	private $queue;

	/**
	 * HTTP client for the gateway.
	 *
	 * @var Tocsin_Client
	 */
	private $client;

	/**
	 * Schedules runs.
	 *
	 * @var Tocsin_Schedule
	 */
	private $schedule;

	/**
	 * Starts a run in a separate process.
	 *
	 * @var Tocsin_Loopback
	 */
	private $loopback;

	/**
	 * Ensures that only one process sends.
	 *
	 * @var Tocsin_Lock
	 */
	private $lock;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Queue  $queue  Queue of events.
	 * @param Tocsin_Client $client HTTP client for the gateway.
	 */
	public function __construct( Tocsin_Queue $queue, Tocsin_Client $client ) {
		$this->queue    = $queue;
		$this->client   = $client;
		$this->schedule = new Tocsin_Schedule();
		$this->loopback = new Tocsin_Loopback();
		$this->lock     = new Tocsin_Lock();
	}

	/**
	 * Registers the hooks: schedule, loopback request, shutdown, and changes of the connection.
	 */
	public function register(): void {
		$this->schedule->register( array( $this, 'run' ), array( $this->queue, 'prune' ) );
		$this->loopback->register( array( $this, 'run' ) );
		add_action( 'shutdown', array( $this, 'after_request' ), PHP_INT_MAX );
		foreach ( array( Tocsin_Connection::URL, Tocsin_Connection::KEY ) as $option ) {
			add_action( 'add_option_' . $option, array( $this, 'resume' ), 10, 0 );
			add_action( 'update_option_' . $option, array( $this, 'resume' ), 10, 0 );
		}
	}

	/**
	 * Ends the downtime and makes all waiting events due, so that they are sent after this request.
	 */
	public function resume(): void {
		Tocsin_Downtime::end();
		$this->queue->make_all_due();
	}

	/**
	 * Starts sending the events of this request: in this process after the response, or in another process. Never throws.
	 */
	public function after_request(): void {
		try {
			Tocsin_Listener::without_events( fn() => $this->start_run() );
		} catch ( Throwable $error ) {
			self::log( 'Sending could not be started; events are sent by the next scheduled run', $error );
		}
	}

	/**
	 * Starts a run now, or schedules it for the time when the first event is due.
	 */
	private function start_run(): void {
		$this->queue->flush();
		$earliest_due = $this->queue->earliest_due();
		$here         = get_current_blog_id();
		foreach ( $earliest_due as $site => $at ) {
			if ( $site !== $here ) {
				switch_to_blog( $site );
				$this->schedule->ensure_run_by( $at );
				restore_current_blog();
			}
		}
		if ( ! isset( $earliest_due[ $here ] ) ) {
			return;
		}
		if ( $earliest_due[ $here ] > Tocsin_Queue::now() ) {
			$this->schedule->ensure_run_by( $earliest_due[ $here ] );
		} elseif ( self::finish_response() ) {
			$this->run();
		} elseif ( ! Tocsin_Lock::is_held() && ! $this->loopback->start() ) {
			$this->schedule->ensure_run_by( $earliest_due[ $here ] );
		}
	}

	/**
	 * Sends due events, for at most 25 seconds or 50 events.
	 *
	 * @return array sent, failed, expired (ints) and reason: '' if nothing is due any more, otherwise busy, gateway or limit.
	 */
	public function run(): array {
		return Tocsin_Listener::without_events( fn() => $this->run_locked() );
	}

	/**
	 * Sends due events while holding the lock.
	 */
	private function run_locked(): array {
		$done = array(
			'sent'    => 0,
			'failed'  => 0,
			'expired' => 0,
			'reason'  => 'busy',
		);
		if ( ! $this->lock->acquire( Tocsin_Queue::LEASE_MS ) ) {
			return $done;
		}
		ignore_user_abort( true );
		try {
			$done['expired'] = $this->queue->expire();
			$done            = $this->send_due( $done );
		} catch ( Throwable $error ) {
			$done['reason'] = 'gateway';
			self::log( 'A run ended early', $error );
		} finally {
			$this->queue->release();
			$this->lock->release();
		}
		// Queried only after the lock is released: a process that queued an event in the meantime has started no run of its own.
		$next = $this->queue->next_at();
		if ( null !== $next ) {
			$this->schedule->ensure_run_by( $next );
		}
		if ( null !== $next && $next <= Tocsin_Queue::now() && 'gateway' !== $done['reason'] ) {
			$this->loopback->start();
		}
		return $done;
	}

	/**
	 * Sends events one by one until none is due, the gateway is unavailable, or the limits of a run are reached.
	 *
	 * @param array $done The result of run() so far.
	 */
	private function send_due( array $done ): array {
		$until                = Tocsin_Queue::now() + self::MAX_RUN_MS;
		$attempts             = 0;
		$consecutive_failures = 0;
		$done['reason']       = '';
		$next                 = $this->queue->next_at();
		if ( null !== Tocsin_Downtime::current() && null !== $next && $next <= Tocsin_Queue::now() ) {
			// During a downtime a newer event may become due first; making all due preserves the order.
			$this->queue->make_all_due();
		}
		while ( true ) {
			$events = $this->queue->claim( self::CLAIM_BATCH );
			if ( ! $events ) {
				return $done;
			}
			foreach ( $events as $event ) {
				if ( $attempts >= self::MAX_EVENTS || Tocsin_Queue::now() >= $until ) {
					$done['reason'] = 'limit';
					return $done;
				}
				++$attempts;
				$result = $this->client->send( Tocsin_Client::notification( $event ), $event['idempotency_key'] );
				$this->queue->record_result( $event['id'], $result );
				++$done[ $result->is_accepted() ? 'sent' : 'failed' ];
				$consecutive_failures = $result->is_accepted() ? 0 : $consecutive_failures + 1;
				if ( $result->is_accepted() && null !== Tocsin_Downtime::current() ) {
					$this->resume();
				}
				if ( ! $result->is_accepted() && ! $result->is_final() && self::affects_all_events( $result->status(), $event['attempts'], $consecutive_failures ) ) {
					$this->queue->delay_all( Tocsin_Downtime::record_failure( $result->retry_after() ), $result->message() );
					$done['reason'] = 'gateway';
					return $done;
				}
			}
		}
	}

	/**
	 * Whether a failure is caused by the gateway, the key or the network, so that all other events would fail too. A repeated failure may be
	 * specific to the event, for example if a firewall blocks its content; it must not block the others until it expires.
	 *
	 * @param int $status               HTTP status; 0 without a response.
	 * @param int $attempts             Number of earlier failed attempts of this event.
	 * @param int $consecutive_failures Number of failures in this run since the last success. Fewer are tolerated without a response, because each takes a timeout.
	 */
	private static function affects_all_events( int $status, int $attempts, int $consecutive_failures ): bool {
		return in_array( $status, array( 401, 429 ), true ) || ( ! in_array( $status, Tocsin_Result::FINAL_STATUSES, true ) && ( $attempts < 3 || $consecutive_failures >= ( 0 === $status ? 2 : 3 ) ) );
	}

	/**
	 * Finishes the response before the script ends, if the server supports it. Cron requests have no client that waits.
	 */
	private static function finish_response(): bool {
		if ( wp_doing_cron() ) {
			return true;
		}
		if ( PHP_SESSION_ACTIVE === session_status() ) {
			session_write_close();
		}
		if ( function_exists( 'fastcgi_finish_request' ) ) {
			return fastcgi_finish_request();
		}
		if ( function_exists( 'litespeed_finish_request' ) ) {
			return (bool) litespeed_finish_request();
		}
		return false;
	}

	/**
	 * Logs an error without its message, which may contain the content of events.
	 *
	 * @param string    $what  Description of the failure.
	 * @param Throwable $error The cause.
	 */
	private static function log( string $what, Throwable $error ): void {
		error_log( sprintf( 'Tocsin: %s (%s in %s:%d).', $what, get_class( $error ), basename( $error->getFile() ), $error->getLine() ) ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions
	}
}
