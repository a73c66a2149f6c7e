<?php
/**
 * Read access to the table of events.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Lists, counts and prunes events of all states.
 *
 * Fields of an event: `id`, `idempotency_key`, `template_id`, `title`, `body`, `severity`, `category`,
 * `payload` (array), `state` (waiting|sent|dead), `attempts`, `next_at`, `lease_until`, `created_at`, `ended_at` (or null),
 * `give_up_at` (expiry), `status` (HTTP status of the last response, or null), `last_error`, `notification_id` (or null). Times are
 * milliseconds since the Unix epoch.
 */
abstract class Tocsin_Event_Log {

	/**
	 * Returns the current time in milliseconds since the Unix epoch.
	 */
	public static function now(): int {
		return (int) floor( microtime( true ) * 1000 );
	}

	/**
	 * Returns the name of the current site's table.
	 */
	public static function table(): string {
		global $wpdb;
		return $wpdb->prefix . 'tocsin_events';
	}

	/**
	 * Returns a page of the log, newest first.
	 *
	 * @param array $args state (waiting|sent|dead|''), template_id, search, per_page (20), page (1), order (desc|asc).
	 * @return array[] Events.
	 */
	public function list( array $args = array() ): array {
		global $wpdb;
		$per_page = max( 1, (int) ( $args['per_page'] ?? 20 ) );
		$offset   = ( max( 1, (int) ( $args['page'] ?? 1 ) ) - 1 ) * $per_page;
		$order    = 'asc' === strtolower( (string) ( $args['order'] ?? '' ) ) ? 'ASC' : 'DESC';
		$table    = self::table();
		return $this->read( "SELECT * FROM $table WHERE " . $this->where( $args ) . $wpdb->prepare( " ORDER BY created_at $order, id $order LIMIT %d OFFSET %d", $per_page, $offset ) ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Returns the total number of events that match the arguments of list().
	 *
	 * @param array $args As for list().
	 */
	public function count( array $args = array() ): int {
		global $wpdb;
		$table = self::table();
		return (int) $wpdb->get_var( "SELECT COUNT(*) FROM $table WHERE " . $this->where( $args ) ); // phpcs:ignore WordPress.DB
	}

	/**
	 * Returns one event, or null.
	 *
	 * @param int $id Event id.
	 * @return array|null
	 */
	public function find( int $id ) {
		global $wpdb;
		$table  = self::table();
		$events = $this->read( $wpdb->prepare( "SELECT * FROM $table WHERE id = %d", $id ) ); // phpcs:ignore WordPress.DB
		return $events ? $events[0] : null;
	}

	/**
	 * Returns when the next event is due, in milliseconds, or null if the queue is empty. Leased events count from the end of their lease.
	 *
	 * @return int|null
	 */
	public function next_at() {
		global $wpdb;
		$table = self::table();
		$next  = $wpdb->get_var( "SELECT MIN(CASE WHEN lease_until > next_at THEN lease_until ELSE next_at END) FROM $table WHERE state = 'waiting'" ); // phpcs:ignore WordPress.DB
		return null === $next ? null : (int) $next;
	}

	/**
	 * Returns the number of events by state, and the number dropped because the queue was full.
	 *
	 * @return array waiting, sent, dead, refused (ints) and next_at (ms, or null if the queue is empty).
	 */
	public function counts(): array {
		global $wpdb;
		$table  = self::table();
		$counts = array(
			'waiting' => 0,
			'sent'    => 0,
			'dead'    => 0,
			'refused' => (int) get_option( 'tocsin_refused', 0 ),
			'next_at' => $this->next_at(),
		);
		foreach ( $wpdb->get_results( "SELECT state, COUNT(*) AS events FROM $table GROUP BY state" ) as $row ) { // phpcs:ignore WordPress.DB
			$counts[ $row->state ] = (int) $row->events;
		}
		return $counts;
	}

	/**
	 * Deletes sent and dead events whose retention period is over.
	 *
	 * @return int Number of deleted events.
	 */
	public function prune(): int {
		global $wpdb;
		$table   = self::table();
		$removed = 0;
		$days    = array(
			'sent' => (int) apply_filters( 'tocsin_keep_sent_days', 30 ),
			'dead' => (int) apply_filters( 'tocsin_keep_dead_days', 90 ),
		);
		foreach ( $days as $state => $retention ) {
			$removed += (int) $wpdb->query( $wpdb->prepare( "DELETE FROM $table WHERE state = %s AND ended_at < %d", $state, self::now() - $retention * DAY_IN_SECONDS * 1000 ) ); // phpcs:ignore WordPress.DB
		}
		return $removed;
	}

	/**
	 * Builds the WHERE condition of list() and count().
	 *
	 * @param array $args As for list().
	 */
	private function where( array $args ): string {
		global $wpdb;
		$where = array( '1 = 1' );
		foreach ( array( 'state', 'template_id' ) as $column ) {
			if ( isset( $args[ $column ] ) && '' !== $args[ $column ] ) {
				$where[] = $wpdb->prepare( "$column = %s", (string) $args[ $column ] ); // phpcs:ignore WordPress.DB
			}
		}
		if ( isset( $args['search'] ) && '' !== $args['search'] ) {
			$like    = '%' . $wpdb->esc_like( (string) $args['search'] ) . '%';
			$where[] = $wpdb->prepare( '(title LIKE %s OR body LIKE %s)', $like, $like );
		}
		return implode( ' AND ', $where );
	}

	/**
	 * Reads events and converts columns from strings to their types.
	 *
	 * @param string $sql A prepared SELECT of whole rows.
	 * @return array[]
	 */
	protected function read( string $sql ): array {
		global $wpdb;
		$events = array();
		foreach ( (array) $wpdb->get_results( $sql, ARRAY_A ) as $row ) { // phpcs:ignore WordPress.DB
			foreach ( array( 'id', 'attempts', 'next_at', 'lease_until', 'created_at', 'give_up_at' ) as $column ) {
				$row[ $column ] = (int) $row[ $column ];
			}
			foreach ( array( 'ended_at', 'status' ) as $column ) {
				$row[ $column ] = null === $row[ $column ] ? null : (int) $row[ $column ];
			}
			$row['last_error'] = (string) $row['last_error'];

			$payload        = json_decode( (string) $row['payload'], true );
			$row['payload'] = is_array( $payload ) ? $payload : array();
			unset( $row['claim_token'] );
			$events[] = $row;
		}
		return $events;
	}

	/**
	 * Updates rows or throws: a run that cannot record its results would repeat them endlessly.
	 *
	 * @param string $sql A prepared UPDATE.
	 * @return int Number of changed rows.
	 */
	protected static function update( string $sql ): int {
		global $wpdb;
		$changed = $wpdb->query( $sql ); // phpcs:ignore WordPress.DB
		if ( false === $changed ) {
			throw new RuntimeException( 'The database rejected the update.' );
		}
		return $changed;
	}
}
