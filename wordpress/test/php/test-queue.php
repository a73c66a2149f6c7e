<?php
/**
 * Queue: inserting, leasing, retries, expiry and retention.
 */

declare( strict_types=1 );

final class Test_Queue extends Tocsin_Test_Case {

	/** @var Tocsin_Queue */
	private $queue;

	protected function setUp(): void {
		parent::setUp();
		$this->queue = new Tocsin_Queue();
	}

	private static function event( string $title, array $more = array() ): array {
		return $more + array( 'template_id' => 'a-template', 'title' => $title, 'body' => 'Text', 'severity' => 'info', 'category' => 'info', 'payload' => array( 'a' => 1 ), 'occurred_at' => Tocsin_Queue::now() );
	}

	private function add( string ...$titles ): array {
		foreach ( $titles as $title ) {
			$this->queue->add( self::event( $title ) );
		}
		$this->queue->flush();
		return array_column( $this->queue->list( array( 'order' => 'asc' ) ), 'id', 'title' );
	}

	private static function set( int $id, string $columns ): void {
		global $wpdb;
		$wpdb->query( 'UPDATE ' . Tocsin_Queue::table() . " SET $columns WHERE id = $id" );
	}

	private static function titles( array $events ): array {
		return array_column( $events, 'title' );
	}

	private static function result( int $status, array $body = array(), array $headers = array() ): Tocsin_Result {
		return Tocsin_Result::from_response( array( 'headers' => $headers, 'body' => wp_json_encode( $body ), 'response' => array( 'code' => $status, 'message' => '' ), 'cookies' => array() ) );
	}

	/**
	 * @return string[] SQL statements executed while `$code` runs.
	 */
	private static function statements( callable $code ): array {
		$statements = array();
		$record     = static function ( $sql ) use ( &$statements ) {
			$statements[] = $sql;
			return $sql;
		};
		add_filter( 'query', $record );
		$code();
		remove_filter( 'query', $record );
		return $statements;
	}

	public function test_events_of_a_request_are_inserted_by_one_statement_at_its_end(): void {
		$this->assertSame( array(), self::statements( fn() => $this->queue->flush() ) );
		$this->assertSame(
			array(),
			self::statements(
				function () {
					$this->queue->add( self::event( 'one' ) );
					$this->queue->add( self::event( 'two' ) );
				}
			)
		);
		( new Tocsin_Schedule() )->ensure_scheduled();
		$statements = self::statements( fn() => $this->queue->flush() );
		$this->assertCount( 1, $statements, implode( "\n", $statements ) );
		$this->assertSame( array( 'one', 'two' ), self::titles( $this->queue->claim( 10 ) ) );
	}

	public function test_events_are_flushed_at_shutdown(): void {
		$this->queue->add( self::event( 'at the end' ) );
		$this->assertNotFalse( has_action( 'shutdown' ) );
		global $wp_filter;
		$first = $wp_filter['shutdown']->callbacks[ PHP_INT_MIN ] ?? array();
		foreach ( $first as $callback ) {
			call_user_func( $callback['function'] );
		}
		$this->assertSame( array( 'at the end' ), self::titles( $this->queue->list() ) );
	}

	public function test_equal_events_of_a_request_are_merged_and_counted(): void {
		$this->add( 'same', 'other', 'same', 'same' );
		$events = $this->queue->list( array( 'order' => 'asc' ) );
		$this->assertSame( array( 'same', 'other' ), self::titles( $events ) );
		$this->assertSame( array( array( 'a' => 1, 'count' => 3 ), array( 'a' => 1 ) ), array_column( $events, 'payload' ) );
		$this->assertCount( 2, array_unique( array_column( $events, 'idempotency_key' ) ) );
		$this->assertMatchesRegularExpression( '/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/', $events[0]['idempotency_key'] );
	}

	public function test_hundred_events_are_inserted_before_the_request_ends(): void {
		for ( $number = 1; $number <= 100; $number++ ) {
			$this->queue->add( self::event( "number $number" ) );
		}
		$this->assertSame( 100, $this->queue->count() );
	}

	public function test_large_events_are_inserted_in_statements_below_one_megabyte(): void {
		global $wpdb;
		$longest = 0;
		$measure = static function ( $sql ) use ( &$longest ) {
			$longest = max( $longest, strlen( $sql ) );
			return $sql;
		};
		add_filter( 'query', $measure );
		for ( $number = 0; $number < 30; $number++ ) {
			$this->queue->add( array( 'template_id' => 'big', 'title' => "Number $number", 'payload' => array( 'text' => str_repeat( '"', 28000 ) ) ) );
		}
		$this->queue->flush();
		remove_filter( 'query', $measure );
		$this->assertSame( 30, $this->queue->count( array( 'template_id' => 'big' ) ) );
		$this->assertLessThan( 1048576, $longest );
		$wpdb->flush();
	}

	public function test_special_characters_are_stored_unchanged(): void {
		$title = "O'Brien \"50 %s\" \\ Grüße 🔔";
		$this->queue->add( self::event( $title, array( 'payload' => array( 'name' => $title, 'list' => array( 1, 2.5, null ) ), 'body' => "bad \xff byte" ) ) );
		$this->queue->add( array() );
		$this->queue->flush();
		list( $event, $empty ) = $this->queue->list( array( 'order' => 'asc' ) );
		$this->assertSame( array( $title, "bad \u{FFFD} byte" ), array( $event['title'], $event['body'] ) );
		$this->assertSame( array( 'name' => $title, 'list' => array( 1, 2.5, null ) ), $event['payload'] );
		$this->assertSame( array( '', '', 'info', array() ), array( $empty['title'], $empty['severity'], $empty['category'], $empty['payload'] ) );
	}

	public function test_database_error_is_logged_without_content_and_does_not_break_the_page(): void {
		$log = tempnam( sys_get_temp_dir(), 'tocsin' );
		$old = ini_set( 'error_log', $log );
		add_filter( 'query', static fn( $sql ) => 0 === strpos( $sql, 'INSERT IGNORE INTO ' . Tocsin_Queue::table() ) ? 'INSERT INTO no_such_table VALUES (1)' : $sql );
		$this->add( 'A private matter' );
		ini_set( 'error_log', $old );
		$logged = file_get_contents( $log );
		unlink( $log );
		$this->assertStringContainsString( 'Tocsin: 1 events could not be queued', $logged );
		$this->assertStringNotContainsString( 'private matter', $logged );
	}

	public function test_insert_whose_result_was_lost_creates_no_duplicate(): void {
		$results = array( 'lost', 'received' );
		$buffer  = new Tocsin_Event_Buffer(
			function ( array $events ) use ( &$results ) {
				$this->queue->write( $events );
				if ( 'lost' === array_shift( $results ) ) {
					throw new RuntimeException( 'gone away' );
				}
			}
		);
		$buffer->add( self::event( 'once' ) );
		$buffer->flush();
		$this->assertSame( array(), $results );
		$this->assertSame( 1, $this->queue->count() );
	}

	public function test_leased_events_cannot_be_claimed_until_the_lease_expires(): void {
		$ids = $this->add( 'one', 'two', 'three' );
		$this->assertSame( array( 'one', 'two' ), self::titles( $this->queue->claim( 2 ) ) );
		$other = new Tocsin_Queue();
		$this->assertSame( array( 'three' ), self::titles( $other->claim( 10 ) ) );
		$this->assertSame( array(), $other->claim( 10 ) );
		$this->assertEqualsWithDelta( Tocsin_Queue::now() + 60000, $this->queue->find( $ids['one'] )['lease_until'], 2000 );

		self::set( $ids['one'], 'lease_until = ' . ( Tocsin_Queue::now() - 1 ) );
		$this->assertSame( array( 'one' ), self::titles( $other->claim( 10 ) ) );
		$this->queue->record_result( $ids['one'], self::result( 503 ) );
		$this->assertSame( 0, $this->queue->find( $ids['one'] )['attempts'], 'a runner without the lease does not schedule a retry' );
		$this->queue->record_result( $ids['one'], self::result( 200, array( 'ok' => true, 'id' => 'n-1' ) ) );
		$this->assertSame( 'sent', $this->queue->find( $ids['one'] )['state'], 'but an accepted event is recorded as sent' );
	}

	public function test_released_events_can_be_claimed_immediately(): void {
		$this->add( 'one' );
		$this->queue->claim( 1 );
		$statements = self::statements( fn() => $this->queue->release() );
		$this->assertStringContainsString( 'WHERE id = ', implode( $statements ), 'without a full table scan' );
		$this->assertSame( array( 'one' ), self::titles( ( new Tocsin_Queue() )->claim( 1 ) ) );
	}

	public function test_events_are_claimed_in_the_order_of_their_occurrence(): void {
		$this->queue->add( self::event( 'second', array( 'occurred_at' => Tocsin_Queue::now() - 1000 ) ) );
		$this->queue->add( self::event( 'first', array( 'occurred_at' => Tocsin_Queue::now() - 2000 ) ) );
		$this->queue->add( self::event( 'third' ) );
		$this->queue->flush();
		$this->assertSame( array( 'first', 'second', 'third' ), self::titles( $this->queue->claim( 10 ) ) );
	}

	/**
	 * @dataProvider back_off
	 */
	public function test_delay_increases_with_each_failure( int $failures, int $seconds ): void {
		$id = $this->add( 'late' )['late'];
		self::set( $id, 'attempts = ' . ( $failures - 1 ) );
		$this->queue->claim( 1 );
		$this->queue->record_result( $id, self::result( 500, array( 'ok' => false, 'error' => 'Internal error', 'code' => 'internal' ) ) );
		$event = $this->queue->find( $id );
		$wait  = ( $event['next_at'] - Tocsin_Queue::now() ) / 1000;
		$this->assertTrue( $wait > $seconds - 2 && $wait <= $seconds * 1.2, "$wait seconds" );
		$this->assertSame( array( 'waiting', $failures, 500, 'The gateway responded with status 500: Internal error' ), array( $event['state'], $event['attempts'], $event['status'], $event['last_error'] ) );
		$this->assertSame( array(), $this->queue->claim( 1 ) );
	}

	public function back_off(): array {
		return array( array( 1, 10 ), array( 2, 30 ), array( 3, 120 ), array( 4, 600 ), array( 5, 1800 ), array( 6, 3600 ), array( 7, 10800 ), array( 12, 10800 ) );
	}

	public function test_retry_after_determines_the_delay(): void {
		$id = $this->add( 'limited' )['limited'];
		$this->queue->claim( 1 );
		$this->queue->record_result( $id, self::result( 429, array( 'ok' => false ), array( 'retry-after' => '200' ) ) );
		$wait = ( $this->queue->find( $id )['next_at'] - Tocsin_Queue::now() ) / 1000;
		$this->assertTrue( $wait > 198 && $wait <= 240, "$wait seconds" );
	}

	public function test_permanently_rejected_event_is_dead_with_the_reason(): void {
		$id = $this->add( 'wrong' )['wrong'];
		$this->queue->claim( 1 );
		$this->queue->record_result( $id, self::result( 400, array( 'ok' => false, 'error' => 'Invalid request body', 'code' => 'invalid_body' ) ) );
		$event = $this->queue->find( $id );
		$this->assertSame( array( 'dead', 400, 'The gateway responded with status 400: Invalid request body' ), array( $event['state'], $event['status'], $event['last_error'] ) );
	}

	public function test_event_expires_after_a_day_with_the_reason(): void {
		$ids = $this->add( 'old', 'young', 'in flight' );
		$now = Tocsin_Queue::now();
		$this->assertEqualsWithDelta( $now + 86400000, $this->queue->find( $ids['old'] )['give_up_at'], 2000 );
		self::set( $ids['old'], "give_up_at = $now, last_error = 'No response.'" );
		self::set( $ids['in flight'], "give_up_at = $now, lease_until = $now + 9000" );
		usleep( 2000 );
		$this->assertSame( 1, $this->queue->expire() );
		$this->assertStringNotContainsString( 'UPDATE', implode( self::statements( fn() => $this->queue->expire() ) ), 'no row locks without expired events' );
		$event = $this->queue->find( $ids['old'] );
		$this->assertSame( array( 'dead', 'Expired: the gateway did not accept it within 24 hours. No response.' ), array( $event['state'], $event['last_error'] ) );
		$this->assertSame( array( 'young' ), self::titles( $this->queue->claim( 10 ) ) );
	}

	public function test_resend_uses_a_new_idempotency_key_unless_the_event_is_waiting(): void {
		$ids = $this->add( 'sent', 'waiting' );
		$this->queue->claim( 1 );
		$this->queue->record_result( $ids['sent'], self::result( 200, array( 'ok' => true, 'id' => 'n-1' ) ) );
		$before = $this->queue->find( $ids['sent'] );
		$this->assertSame( array( 'sent', 'n-1', 1 ), array( $before['state'], $before['notification_id'], $before['attempts'] ) );
		$this->assertTrue( $this->queue->resend( $ids['sent'] ) );
		$after = $this->queue->find( $ids['sent'] );
		$this->assertSame( array( 'waiting', null, 0, null ), array( $after['state'], $after['notification_id'], $after['attempts'], $after['ended_at'] ) );
		$this->assertNotSame( $before['idempotency_key'], $after['idempotency_key'] );

		$key = $this->queue->find( $ids['waiting'] )['idempotency_key'];
		self::set( $ids['waiting'], 'next_at = ' . ( Tocsin_Queue::now() + 99999 ) );
		$this->assertTrue( $this->queue->resend( $ids['waiting'] ) );
		$this->assertSame( $key, $this->queue->find( $ids['waiting'] )['idempotency_key'], 'a waiting event keeps its key, because it may have been received' );
		$this->assertCount( 2, $this->queue->claim( 10 ) );
		$this->assertFalse( $this->queue->resend( 987654 ) );
	}

	public function test_sent_events_are_deleted_after_30_days_and_dead_ones_after_90(): void {
		$ids = $this->add( 'sent 31', 'sent 29', 'dead 91', 'dead 89', 'waiting' );
		foreach ( array_diff_key( $ids, array( 'waiting' => 1 ) ) as $title => $id ) {
			list( $state, $days ) = explode( ' ', $title );
			self::set( $id, "state = '$state', ended_at = " . ( Tocsin_Queue::now() - $days * 86400000 ) );
		}
		$this->assertSame( 2, $this->queue->prune() );
		$this->assertSame( array( 'sent 29', 'dead 89', 'waiting' ), self::titles( $this->queue->list( array( 'order' => 'asc' ) ) ) );
		add_filter( 'tocsin_keep_sent_days', static fn() => 7 );
		$this->assertSame( 1, $this->queue->prune() );
	}

	public function test_full_queue_accepts_only_critical_events_and_counts_dropped_ones(): void {
		update_option( 'tocsin_outage', array( 'failures' => 1, 'since' => 0, 'probed_at' => 0, 'until' => 0 ) );
		add_filter( 'tocsin_most_waiting', static fn() => 2 );
		$log = ini_set( 'error_log', '/dev/null' );
		$this->queue->add( self::event( 'critical', array( 'severity' => 'critical' ) ) );
		$this->add( 'two', 'three', 'four' );
		$this->queue->add( self::event( 'also critical', array( 'severity' => 'critical' ) ) );
		$this->queue->flush();
		ini_set( 'error_log', $log );
		$counts = $this->queue->counts();
		$this->assertSame( array( 'critical', 'two', 'also critical' ), self::titles( $this->queue->list( array( 'order' => 'asc' ) ) ) );
		$this->assertSame( array( 3, 2 ), array( $counts['waiting'], $counts['refused'] ) );
	}

	public function test_log_can_be_filtered_by_state_template_and_text(): void {
		$ids = $this->add( '50% off', 'five', 'six' );
		self::set( $ids['five'], "state = 'dead', template_id = 'another'" );
		$this->assertSame( array( '50% off' ), self::titles( $this->queue->list( array( 'search' => '0% o' ) ) ) );
		$this->assertSame( array( 'five' ), self::titles( $this->queue->list( array( 'state' => 'dead' ) ) ) );
		$this->assertSame( array( 'five' ), self::titles( $this->queue->list( array( 'template_id' => 'another' ) ) ) );
		$this->assertSame( array( 'five' ), self::titles( $this->queue->list( array( 'per_page' => 1, 'page' => 2 ) ) ) );
		$this->assertSame( 0, $this->queue->count( array( 'search' => "' OR 1=1 --" ) ) );
		$this->assertSame( 3, $this->queue->count() );
	}
}
