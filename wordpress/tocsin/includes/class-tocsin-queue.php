<?php
/**
 * The queue of events.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Events that wait to be sent, in a table of their own. Once they are sent or given up they stay there as the log.
 */
class Tocsin_Queue extends Tocsin_Event_Log {

	/** The gateway keeps an Idempotency-Key for so long; later than that a second try could ring twice. */
	const EXPIRES_AFTER_MS = 86400000;

	/** Longer than a run with its last request can take, so that only a runner that died loses its events. */
	const LEASE_MS = 60000;

	/** So many events may wait; beyond it only critical ones are taken. */
	const MAX_WAITING = 10000;

	/**
	 * What this request has added and not yet written.
	 *
	 * @var Tocsin_Event_Buffer
	 */
	private $outbox;

	/**
	 * The tokens under which this process holds events, by event.
	 *
	 * @var string[]
	 */
	private $claims = array();

	/**
	 * When something that this request wrote may be sent, by site.
	 *
	 * @var int[]
	 */
	private $soonest = array();

	/**
	 * Starts with nothing added.
	 */
	public function __construct() {
		$this->outbox = new Tocsin_Event_Buffer( array( $this, 'write' ) );
	}

	/**
	 * Takes an event for writing at the end of the request. Never throws.
	 *
	 * @param array $event template_id, title, body, severity, category, payload, occurred_at.
	 */
	public function add( array $event ): void {
		$this->outbox->add( $event );
	}

	/**
	 * Writes what was added so far. Never throws.
	 */
	public function flush(): void {
		$this->outbox->flush();
	}

	/**
	 * When the soonest of the events may be sent that this request has written, in milliseconds, by site.
	 *
	 * @return int[]
	 */
	public function earliest_due(): array {
		return $this->soonest;
	}

	/**
	 * Writes events to the current site's table in one statement. What is there already stays: an answer of the database may have got lost.
	 *
	 * @param array[] $events As given to add().
	 */
	public function write( array $events ): void {
		global $wpdb;
		$table   = self::table();
		$room    = $this->free_capacity();
		$refused = 0;
		$rows    = array();
		$next_at = Tocsin_Downtime::next_attempt_for_new_event( self::now() );
		foreach ( $events as $event ) {
			if ( count( $rows ) >= $room && 'critical' !== $event['severity'] ) {
				++$refused;
				continue;
			}
			$rows[] = $wpdb->prepare(
				'(%s, %s, %s, %s, %s, %s, %s, %d, %d, %d)',
				$event['idempotency_key'],
				$event['template_id'],
				$event['title'],
				$event['body'],
				$event['severity'],
				$event['category'],
				wp_json_encode( $event['payload'], JSON_PARTIAL_OUTPUT_ON_ERROR ),
				$next_at,
				$event['occurred_at'],
				$event['occurred_at'] + self::EXPIRES_AFTER_MS
			);
		}
		if ( $refused > 0 ) {
			$this->count_dropped( $refused );
		}
		if ( $rows && false === $wpdb->query( "INSERT IGNORE INTO $table (idempotency_key, template_id, title, body, severity, category, payload, next_at, created_at, give_up_at) VALUES " . implode( ', ', $rows ) ) ) { // phpcs:ignore WordPress.DB
			throw new RuntimeException( 'The database rejected the events.' );
		}
		if ( $rows ) {
			$this->soonest[ get_current_blog_id() ] = $next_at;
		}
	}

	/**
	 * Takes due events for a minute, oldest first. Two runners never get the same: the UPDATE decides.
	 *
	 * @param int $limit At most so many.
	 * @return array[] Events.
	 */
	public function claim( int $limit ): array {
		global $wpdb;
		$table = self::table();
		$now   = self::now();
		$ids   = $wpdb->get_col( $wpdb->prepare( "SELECT id FROM $table WHERE state = 'waiting' AND next_at <= %d AND lease_until < %d ORDER BY created_at, id LIMIT %d", $now, $now, $limit ) ); // phpcs:ignore WordPress.DB
		if ( ! $ids ) {
			return array();
		}
		$in    = implode( ', ', array_map( 'intval', $ids ) );
		$token = Tocsin_Event_Buffer::uuid();
		self::change( $wpdb->prepare( "UPDATE $table SET claim_token = %s, lease_until = %d WHERE id IN ($in) AND state = 'waiting' AND next_at <= %d AND lease_until < %d", $token, $now + self::LEASE_MS, $now, $now ) ); // phpcs:ignore WordPress.DB
		$events = $this->read( $wpdb->prepare( "SELECT * FROM $table WHERE id IN ($in) AND claim_token = %s ORDER BY created_at, id", $token ) ); // phpcs:ignore WordPress.DB
		foreach ( $events as $event ) {
			$this->claims[ $event['id'] ] = $token;
		}
		return $events;
	}

	/**
	 * Gives back what was claimed and not settled.
	 */
	public function release(): void {
		global $wpdb;
		$table = self::table();
		foreach ( $this->claims as $id => $token ) {
			$wpdb->query( $wpdb->prepare( "UPDATE $table SET lease_until = 0, claim_token = '' WHERE id = %d AND claim_token = %s", $id, $token ) ); // phpcs:ignore WordPress.DB
		}
		$this->claims = array();
	}

	/**
	 * Writes down what came of sending an event.
	 *
	 * @param int           $id     Event.
	 * @param Tocsin_Result $result What the gateway said.
	 */
	public function record_result( int $id, Tocsin_Result $result ): void {
		if ( $result->is_accepted() ) {
			$given = $result->response()['id'] ?? '';
			$this->finish( $id, 'sent', $result->status(), '', is_string( $given ) ? $given : '' );
		} elseif ( $result->is_final() ) {
			$this->finish( $id, 'dead', $result->status(), $result->message(), '' );
		} else {
			$this->retry( $id, $result );
		}
	}

	/**
	 * Lets an event wait for its next try.
	 *
	 * @param int           $id     Event.
	 * @param Tocsin_Result $result Why it did not go.
	 */
	private function retry( int $id, Tocsin_Result $result ): void {
		global $wpdb;
		$event = $this->find( $id );
		if ( null === $event || ! isset( $this->claims[ $id ] ) ) {
			return;
		}
		$next_at = min( $event['give_up_at'], self::now() + Tocsin_Backoff::delay( $event['attempts'] + 1, $result->retry_after() ) );
		$table   = self::table();
		self::change( $wpdb->prepare( "UPDATE $table SET attempts = attempts + 1, next_at = %d, lease_until = 0, claim_token = '', status = NULLIF(%d, 0), last_error = %s WHERE id = %d AND state = 'waiting' AND claim_token = %s", $next_at, $result->status(), $result->message(), $id, $this->claims[ $id ] ) ); // phpcs:ignore WordPress.DB
		unset( $this->claims[ $id ] );
	}

	/**
	 * An event that was accepted or refused for good. Whoever holds the lease by now: the gateway has spoken.
	 *
	 * @param int    $id              Event.
	 * @param string $state           sent|dead.
	 * @param int    $status          HTTP status.
	 * @param string $error           Why it was refused.
	 * @param string $notification_id The gateway's id of it.
	 */
	private function finish( int $id, string $state, int $status, string $error, string $notification_id ): void {
		global $wpdb;
		$table = self::table();
		self::change( $wpdb->prepare( "UPDATE $table SET state = %s, attempts = attempts + 1, lease_until = 0, claim_token = '', ended_at = %d, status = NULLIF(%d, 0), last_error = %s, notification_id = NULLIF(%s, '') WHERE id = %d AND state = 'waiting'", $state, self::now(), $status, $error, $notification_id, $id ) ); // phpcs:ignore WordPress.DB
		unset( $this->claims[ $id ] );
	}

	/**
	 * Lets everything wait at least until then: one try stood for all.
	 *
	 * @param int    $until Milliseconds.
	 * @param string $error Why.
	 */
	public function delay_all( int $until, string $error ): void {
		global $wpdb;
		$this->release();
		$table = self::table();
		self::change( $wpdb->prepare( "UPDATE $table SET next_at = %d, last_error = %s WHERE state = 'waiting' AND next_at < %d", $until, $error, $until ) ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Makes everything that waits due now.
	 */
	public function make_all_due(): void {
		global $wpdb;
		$table = self::table();
		$now   = self::now();

		$this->soonest[ get_current_blog_id() ] = $now;
		$wpdb->query( $wpdb->prepare( "UPDATE $table SET next_at = %d WHERE state = 'waiting' AND next_at > %d", $now, $now ) ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Ends what has waited for a day.
	 *
	 * @return int How many.
	 */
	public function expire(): int {
		global $wpdb;
		$table  = self::table();
		$now    = self::now();
		$reason = __( 'Expired: the gateway did not accept it within 24 hours.', 'tocsin' ) . ' ';
		$old    = $wpdb->prepare( "state = 'waiting' AND give_up_at <= %d AND lease_until < %d", $now, $now );
		// An UPDATE locks every row that it looks at, and pages would wait for it.
		if ( ! $wpdb->get_var( "SELECT 1 FROM $table WHERE $old LIMIT 1" ) ) { // phpcs:ignore WordPress.DB
			return 0;
		}
		return self::change( $wpdb->prepare( "UPDATE $table SET state = 'dead', ended_at = %d, lease_until = 0, claim_token = '', last_error = CONCAT(%s, COALESCE(last_error, '')) WHERE ", $now, $reason ) . $old ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Sends an event again: one that waits becomes due now; one that was sent or given up starts anew and rings again.
	 *
	 * @param int $id Event.
	 * @return bool False when there is no such event.
	 */
	public function resend( int $id ): bool {
		global $wpdb;
		$table = self::table();
		$now   = self::now();

		$this->soonest[ get_current_blog_id() ] = $now;
		// A new key: with the old one the gateway would repeat its first answer and nothing would ring.
		$again = $wpdb->query( $wpdb->prepare( "UPDATE $table SET state = 'waiting', idempotency_key = %s, attempts = 0, next_at = %d, give_up_at = %d, ended_at = NULL, status = NULL, last_error = '', notification_id = NULL WHERE id = %d AND state <> 'waiting'", Tocsin_Event_Buffer::uuid(), $now, $now + self::EXPIRES_AFTER_MS, $id ) ); // phpcs:ignore WordPress.DB
		if ( $again ) {
			return true;
		}
		$wpdb->query( $wpdb->prepare( "UPDATE $table SET next_at = %d WHERE id = %d AND state = 'waiting' AND next_at > %d", $now, $id, $now ) ); // phpcs:ignore WordPress.DB
		return null !== $this->find( $id );
	}

	/**
	 * How many more events may wait. As long as runs take place nothing piles up, and a page need not pay for counting.
	 */
	private function free_capacity(): int {
		global $wpdb;
		$scheduled = wp_next_scheduled( Tocsin_Schedule::EVERY_FIVE_MINUTES );
		if ( null === Tocsin_Downtime::current() && $scheduled && $scheduled > time() - HOUR_IN_SECONDS ) {
			return PHP_INT_MAX;
		}
		$table   = self::table();
		$waiting = (int) $wpdb->get_var( "SELECT COUNT(*) FROM $table WHERE state = 'waiting'" ); // phpcs:ignore WordPress.DB
		return max( 0, (int) apply_filters( 'tocsin_most_waiting', self::MAX_WAITING ) - $waiting );
	}

	/**
	 * Counts events that a full queue did not take.
	 *
	 * @param int $events How many.
	 */
	private function count_dropped( int $events ): void {
		update_option( 'tocsin_refused', (int) get_option( 'tocsin_refused', 0 ) + $events, false );
		error_log( sprintf( 'Tocsin: %d events were dropped because the queue is full. Check that the gateway is reachable. See Tocsin > Log.', $events ) ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions
	}
}
