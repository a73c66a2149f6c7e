<?php
/**
 * The queue of events.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Stores events in the plugin's table until they are sent. Sent and dead events remain there as the log.
 *
 * States: waiting → sent when the gateway accepts the event; waiting → dead when it rejects the event permanently or the event expires.
 * resend() puts a sent or dead event back to waiting.
 */
class Tocsin_Queue extends Tocsin_Event_Log {

	/** The gateway keeps an Idempotency-Key for 24 hours; a later retry could create a duplicate. */
	const EXPIRES_AFTER_MS = 86400000;

	/** Longer than a run can take, including its last request, so that only a crashed runner loses its lease. */
	const LEASE_MS = 60000;

	/** Maximum number of waiting events; beyond it only critical ones are queued. */
	const MAX_WAITING = 10000;

	/**
	 * Events of this request that are not yet in the table.
	 *
	 * @var Tocsin_Event_Buffer
	 */
	private $buffer;

	/**
	 * Claim tokens of the events leased by this process, by event id.
	 *
	 * @var string[]
	 */
	private $claims = array();

	/**
	 * Earliest due time of the events changed by this request, in milliseconds, by site.
	 *
	 * @var int[]
	 */
	private $earliest_due = array();

	/**
	 * Creates the buffer.
	 */
	public function __construct() {
		$this->buffer = new Tocsin_Event_Buffer( array( $this, 'write' ) );
	}

	/**
	 * Buffers an event, to be inserted at the end of the request. Never throws.
	 *
	 * @param array $event template_id, title, body, severity, category, payload, occurred_at.
	 */
	public function add( array $event ): void {
		$this->buffer->add( $event );
	}

	/**
	 * Inserts the buffered events. Never throws.
	 */
	public function flush(): void {
		$this->buffer->flush();
	}

	/**
	 * Returns the earliest due time of the events changed by this request.
	 *
	 * @return int[] Milliseconds by site id.
	 */
	public function earliest_due(): array {
		return $this->earliest_due;
	}

	/**
	 * Inserts events into the current site's table in one statement. Existing rows are ignored: the database may have committed an
	 * earlier attempt whose result was lost.
	 *
	 * @param array[] $events As passed to add().
	 * @throws RuntimeException If the database rejects them.
	 */
	public function write( array $events ): void {
		global $wpdb;
		$table    = self::table();
		$capacity = $this->free_capacity();
		$dropped  = 0;
		$rows     = array();
		$next_at  = Tocsin_Downtime::next_attempt_for_new_event( self::now() );
		foreach ( $events as $event ) {
			if ( count( $rows ) >= $capacity && 'critical' !== $event['severity'] ) {
				++$dropped;
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
		if ( $dropped > 0 ) {
			$this->count_dropped( $dropped );
		}
		if ( $rows && false === $wpdb->query( "INSERT IGNORE INTO $table (idempotency_key, template_id, title, body, severity, category, payload, next_at, created_at, give_up_at) VALUES " . implode( ', ', $rows ) ) ) { // phpcs:ignore WordPress.DB
			throw new RuntimeException( 'The database rejected the events.' );
		}
		if ( $rows ) {
			$this->earliest_due[ get_current_blog_id() ] = $next_at;
		}
	}

	/**
	 * Leases due events for a minute, oldest first. The UPDATE is atomic, so two runners never lease the same event.
	 *
	 * @param int $limit Maximum number of events.
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
		self::update( $wpdb->prepare( "UPDATE $table SET claim_token = %s, lease_until = %d WHERE id IN ($in) AND state = 'waiting' AND next_at <= %d AND lease_until < %d", $token, $now + self::LEASE_MS, $now, $now ) ); // phpcs:ignore WordPress.DB
		$events = $this->read( $wpdb->prepare( "SELECT * FROM $table WHERE id IN ($in) AND claim_token = %s ORDER BY created_at, id", $token ) ); // phpcs:ignore WordPress.DB
		foreach ( $events as $event ) {
			$this->claims[ $event['id'] ] = $token;
		}
		return $events;
	}

	/**
	 * Releases the leases of claimed events without a result.
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
	 * Records the result of sending an event.
	 *
	 * @param int           $id     Event id.
	 * @param Tocsin_Result $result Result of the request.
	 */
	public function record_result( int $id, Tocsin_Result $result ): void {
		if ( $result->is_accepted() ) {
			$notification_id = $result->body()['id'] ?? '';
			$this->finish( $id, 'sent', $result->status(), '', is_string( $notification_id ) ? $notification_id : '' );
		} elseif ( $result->is_final() ) {
			$this->finish( $id, 'dead', $result->status(), $result->message(), '' );
		} else {
			$this->retry( $id, $result );
		}
	}

	/**
	 * Schedules the next attempt of an event, if this process still holds its lease.
	 *
	 * @param int           $id     Event id.
	 * @param Tocsin_Result $result Result of the failed request.
	 */
	private function retry( int $id, Tocsin_Result $result ): void {
		global $wpdb;
		$event = $this->find( $id );
		if ( null === $event || ! isset( $this->claims[ $id ] ) ) {
			return;
		}
		$next_at = min( $event['give_up_at'], self::now() + Tocsin_Backoff::delay( $event['attempts'] + 1, $result->retry_after() ) );
		$table   = self::table();
		self::update( $wpdb->prepare( "UPDATE $table SET attempts = attempts + 1, next_at = %d, lease_until = 0, claim_token = '', status = NULLIF(%d, 0), last_error = %s WHERE id = %d AND state = 'waiting' AND claim_token = %s", $next_at, $result->status(), $result->message(), $id, $this->claims[ $id ] ) ); // phpcs:ignore WordPress.DB
		unset( $this->claims[ $id ] );
	}

	/**
	 * Moves an event to a final state. This does not depend on the lease: the response of the gateway is final.
	 *
	 * @param int    $id              Event id.
	 * @param string $state           sent|dead.
	 * @param int    $status          HTTP status.
	 * @param string $error           Reason of the rejection.
	 * @param string $notification_id Id assigned by the gateway.
	 */
	private function finish( int $id, string $state, int $status, string $error, string $notification_id ): void {
		global $wpdb;
		$table = self::table();
		self::update( $wpdb->prepare( "UPDATE $table SET state = %s, attempts = attempts + 1, lease_until = 0, claim_token = '', ended_at = %d, status = NULLIF(%d, 0), last_error = %s, notification_id = NULLIF(%s, '') WHERE id = %d AND state = 'waiting'", $state, self::now(), $status, $error, $notification_id, $id ) ); // phpcs:ignore WordPress.DB
		unset( $this->claims[ $id ] );
	}

	/**
	 * Delays all waiting events, after a failure that affects all of them.
	 *
	 * @param int    $until Earliest next attempt, in milliseconds since the Unix epoch.
	 * @param string $error Reason of the failure.
	 */
	public function delay_all( int $until, string $error ): void {
		global $wpdb;
		$this->release();
		$table = self::table();
		self::update( $wpdb->prepare( "UPDATE $table SET next_at = %d, last_error = %s WHERE state = 'waiting' AND next_at < %d", $until, $error, $until ) ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Makes all waiting events due now.
	 */
	public function make_all_due(): void {
		global $wpdb;
		$table = self::table();
		$now   = self::now();

		$this->earliest_due[ get_current_blog_id() ] = $now;
		$wpdb->query( $wpdb->prepare( "UPDATE $table SET next_at = %d WHERE state = 'waiting' AND next_at > %d", $now, $now ) ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Moves events that have waited for 24 hours to the state dead.
	 *
	 * @return int Number of expired events.
	 */
	public function expire(): int {
		global $wpdb;
		$table  = self::table();
		$now    = self::now();
		$reason = __( 'Expired: the gateway did not accept it within 24 hours.', 'tocsin' ) . ' ';
		$where  = $wpdb->prepare( "state = 'waiting' AND give_up_at <= %d AND lease_until < %d", $now, $now );
		// The SELECT avoids the row locks of an UPDATE without matches, which would block inserts by pages.
		if ( ! $wpdb->get_var( "SELECT 1 FROM $table WHERE $where LIMIT 1" ) ) { // phpcs:ignore WordPress.DB
			return 0;
		}
		return self::update( $wpdb->prepare( "UPDATE $table SET state = 'dead', ended_at = %d, lease_until = 0, claim_token = '', last_error = CONCAT(%s, COALESCE(last_error, '')) WHERE ", $now, $reason ) . $where ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Sends an event again: a waiting event becomes due now; a sent or dead one is queued again and creates a new notification.
	 *
	 * @param int $id Event id.
	 * @return bool False if the event does not exist.
	 */
	public function resend( int $id ): bool {
		global $wpdb;
		$table = self::table();
		$now   = self::now();

		$this->earliest_due[ get_current_blog_id() ] = $now;
		// A new Idempotency-Key: for the old one the gateway would replay its first response and deliver nothing.
		$requeued = $wpdb->query( $wpdb->prepare( "UPDATE $table SET state = 'waiting', idempotency_key = %s, attempts = 0, next_at = %d, give_up_at = %d, ended_at = NULL, status = NULL, last_error = '', notification_id = NULL WHERE id = %d AND state <> 'waiting'", Tocsin_Event_Buffer::uuid(), $now, $now + self::EXPIRES_AFTER_MS, $id ) ); // phpcs:ignore WordPress.DB
		if ( $requeued ) {
			return true;
		}
		$wpdb->query( $wpdb->prepare( "UPDATE $table SET next_at = %d WHERE id = %d AND state = 'waiting' AND next_at > %d", $now, $id, $now ) ); // phpcs:ignore WordPress.DB
		return null !== $this->find( $id );
	}

	/**
	 * Returns how many more events can be queued. While runs take place the queue stays short, so a page skips the COUNT query.
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
	 * Counts and logs events that were dropped because the queue is full.
	 *
	 * @param int $events Number of dropped events.
	 */
	private function count_dropped( int $events ): void {
		update_option( 'tocsin_refused', (int) get_option( 'tocsin_refused', 0 ) + $events, false );
		error_log( sprintf( 'Tocsin: %d events were dropped because the queue is full. Check that the gateway is reachable. See Tocsin > Log.', $events ) ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions
	}
}
