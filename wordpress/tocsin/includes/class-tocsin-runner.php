<?php
/**
 * Sends what is due.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Sends due events after the request, by the clock and by command; one runner at a time, oldest event first.
 */
class Tocsin_Runner {

	const MAX_EVENTS  = 50;
	const MAX_RUN_MS      = 25000;
	const CLAIM_BATCH = 10;

	/**
	 * Where events wait.
	 *
	 * @var Tocsin_Queue
	 */
	private $queue;

	/**
	 * Sends one.
	 *
	 * @var Tocsin_Client
	 */
	private $client;

	/**
	 * Runs by the clock.
	 *
	 * @var Tocsin_Schedule
	 */
	private $schedule;

	/**
	 * Runs in a process of its own.
	 *
	 * @var Tocsin_Loopback
	 */
	private $loopback;

	/**
	 * Only one process sends.
	 *
	 * @var Tocsin_Lock
	 */
	private $lock;

	/**
	 * Takes its parts.
	 *
	 * @param Tocsin_Queue  $queue  Where events wait.
	 * @param Tocsin_Client $client Sends one.
	 */
	public function __construct( Tocsin_Queue $queue, Tocsin_Client $client ) {
		$this->queue    = $queue;
		$this->client   = $client;
		$this->schedule = new Tocsin_Schedule();
		$this->loopback = new Tocsin_Loopback();
		$this->lock     = new Tocsin_Lock();
	}

	/**
	 * Attaches to WordPress: the end of the request, the loop-back, the clock.
	 */
	public function register(): void {
		$this->schedule->register( array( $this, 'run' ), array( $this->queue, 'prune' ) );
		$this->loopback->register( array( $this, 'run' ) );
		add_action( 'shutdown', array( $this, 'after_request' ), PHP_INT_MAX );
		foreach ( array( Tocsin_Settings::URL, Tocsin_Settings::KEY ) as $option ) {
			add_action( 'add_option_' . $option, array( $this, 'resume' ), 10, 0 );
			add_action( 'update_option_' . $option, array( $this, 'resume' ), 10, 0 );
		}
	}

	/**
	 * Whatever kept the gateway away is mended: what waits is sent after this request.
	 */
	public function resume(): void {
		Tocsin_Downtime::end();
		$this->queue->make_all_due();
	}

	/**
	 * Starts sending what this request has written: here, once the visitor has the page, or in another process. Never throws.
	 */
	public function after_request(): void {
		try {
			Tocsin_Listener::without_events( fn() => $this->start_run() );
		} catch ( Throwable $error ) {
			self::log( 'Sending could not be started; events are sent by the next scheduled run', $error );
		}
	}

	/**
	 * Starts a run now, or at the time when the soonest event may be sent.
	 */
	private function start_run(): void {
		$this->queue->flush();
		$soonest = $this->queue->earliest_due();
		$here    = get_current_blog_id();
		foreach ( $soonest as $site => $at ) {
			if ( $site !== $here ) {
				switch_to_blog( $site );
				$this->schedule->ensure_run_by( $at );
				restore_current_blog();
			}
		}
		if ( ! isset( $soonest[ $here ] ) ) {
			return;
		}
		if ( $soonest[ $here ] > Tocsin_Queue::now() ) {
			$this->schedule->ensure_run_by( $soonest[ $here ] );
		} elseif ( self::finish_response() ) {
			$this->run();
		} elseif ( ! Tocsin_Lock::is_held() && ! $this->loopback->start() ) {
			$this->schedule->ensure_run_by( $soonest[ $here ] );
		}
	}

	/**
	 * Sends what is due, for at most 25 seconds or 50 events.
	 *
	 * @return array sent, failed, given_up (ints) and reason ('' or why it ended early: busy, gateway, limit).
	 */
	public function run(): array {
		return Tocsin_Listener::without_events( fn() => $this->run_locked() );
	}

	/**
	 * Sends, unless another process does.
	 */
	private function run_locked(): array {
		$done = array(
			'sent'     => 0,
			'failed'   => 0,
			'given_up' => 0,
			'reason'   => 'busy',
		);
		if ( ! $this->lock->acquire( Tocsin_Queue::LEASE_MS ) ) {
			return $done;
		}
		ignore_user_abort( true );
		try {
			$done['given_up'] = $this->queue->expire();
			$done             = $this->send_due( $done );
		} catch ( Throwable $error ) {
			$done['reason'] = 'gateway';
			self::log( 'A run ended early', $error );
		} finally {
			$this->queue->release();
			$this->lock->release();
		}
		// Asked only after the lock is free: whoever wrote an event while it was held has left it to this run.
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
	 * Sends one event after the other until nothing is due, the gateway is away or the run was long enough.
	 *
	 * @param array $done What run() gives back, so far.
	 */
	private function send_due( array $done ): array {
		$until          = Tocsin_Queue::now() + self::MAX_RUN_MS;
		$tried          = 0;
		$in_a_row       = 0;
		$done['reason'] = '';
		$next           = $this->queue->next_at();
		if ( null !== Tocsin_Downtime::current() && null !== $next && $next <= Tocsin_Queue::now() ) {
			// Whatever became due: the oldest of all goes first.
			$this->queue->make_all_due();
		}
		while ( true ) {
			$events = $this->queue->claim( self::CLAIM_BATCH );
			if ( ! $events ) {
				return $done;
			}
			foreach ( $events as $event ) {
				if ( $tried >= self::MAX_EVENTS || Tocsin_Queue::now() >= $until ) {
					$done['reason'] = 'limit';
					return $done;
				}
				++$tried;
				$result = $this->client->send( Tocsin_Client::notification( $event ), $event['idempotency_key'] );
				$this->queue->record_result( $event['id'], $result );
				++$done[ $result->is_accepted() ? 'sent' : 'failed' ];
				$in_a_row = $result->is_accepted() ? 0 : $in_a_row + 1;
				if ( $result->is_accepted() && null !== Tocsin_Downtime::current() ) {
					$this->resume();
				}
				if ( ! $result->is_accepted() && ! $result->is_final() && self::affects_all_events( $result->status(), $event['attempts'], $in_a_row ) ) {
					$this->queue->delay_all( Tocsin_Downtime::record_failure( $result->retry_after() ), $result->message() );
					$done['reason'] = 'gateway';
					return $done;
				}
			}
		}
	}

	/**
	 * Whether a failure is the gateway's, the key's or the way's, so that every other event would fare the same. One that keeps coming
	 * back may be about this very event, which a firewall on the way dislikes; it must not hold up the others for a day.
	 *
	 * @param int $status   HTTP status, 0 where there was no answer.
	 * @param int $attempts How often this event failed before.
	 * @param int $in_a_row How many events have failed in this run since one went through; waiting for no answer takes long.
	 */
	private static function affects_all_events( int $status, int $attempts, int $in_a_row ): bool {
		return in_array( $status, array( 401, 429 ), true ) || ( ! in_array( $status, Tocsin_Result::FINAL_STATUSES, true ) && ( $attempts < 3 || $in_a_row >= ( 0 === $status ? 2 : 3 ) ) );
	}

	/**
	 * Lets the visitor go, where the server can do that before the script ends. Nobody waits for cron.
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
	 * Says what went wrong, without what the events say: a message may quote them.
	 *
	 * @param string    $what  What did not happen.
	 * @param Throwable $error Why.
	 */
	private static function log( string $what, Throwable $error ): void {
		error_log( sprintf( 'Tocsin: %s (%s in %s:%d).', $what, get_class( $error ), basename( $error->getFile() ), $error->getLine() ) ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions
	}
}
