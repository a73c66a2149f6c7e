<?php
/**
 * Queue runner: order, downtime and locking.
 */

declare( strict_types=1 );

final class Test_Runner extends Tocsin_Test_Case {

	/** @var Tocsin_Queue */
	private $queue;

	/** @var Tocsin_Runner */
	private $runner;

	/** @var string[] Titles of requests to the gateway. */
	private $requested = array();

	/** @var callable Title → HTTP status; 0 for no response. */
	private $gateway;

	/** @var string */
	private $retry_after = '';

	/** @var int */
	private $loopbacks = 0;

	protected function setUp(): void {
		parent::setUp();
		$connection = new Tocsin_Connection();
		$connection->save_url( 'https://gateway.example.com/' );
		$connection->save_key( 'svc_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef' );
		$this->queue   = new Tocsin_Queue();
		$this->runner  = new Tocsin_Runner( $this->queue, new Tocsin_Client( $connection ) );
		$this->gateway = static fn() => 200;
		add_filter(
			'tocsin_loopback_request',
			function () {
				++$this->loopbacks;
				return false;
			}
		);
		add_filter(
			'pre_http_request',
			function ( $short, $args, $url ) {
				$this->requested[] = json_decode( $args['body'], true )['title'];
				$status        = ( $this->gateway )( end( $this->requested ) );
				if ( 0 === $status ) {
					return new WP_Error( 'http_request_failed', 'Connection refused' );
				}
				return array( 'headers' => array( 'retry-after' => $this->retry_after ), 'body' => wp_json_encode( array( 'ok' => 200 === $status, 'error' => 'An error' ) ), 'response' => array( 'code' => $status, 'message' => '' ), 'cookies' => array() );
			},
			PHP_INT_MAX,
			3
		);
	}

	private function add( string ...$titles ): void {
		foreach ( $titles as $title ) {
			$this->queue->add( array( 'template_id' => 't', 'title' => $title, 'body' => 'Text' ) );
		}
		$this->queue->flush();
	}

	private function advance( int $seconds ): void {
		global $wpdb;
		$ms = $seconds * 1000;
		$wpdb->query( 'UPDATE ' . Tocsin_Queue::table() . " SET next_at = next_at - $ms, created_at = created_at - $ms, give_up_at = give_up_at - $ms" );
		$downtime = get_option( 'tocsin_outage' );
		if ( $downtime ) {
			update_option( 'tocsin_outage', array( 'failures' => $downtime['failures'], 'since' => $downtime['since'] - $ms, 'probed_at' => $downtime['probed_at'] - $ms, 'until' => $downtime['until'] - $ms ) );
		}
	}

	private function requested(): array {
		$requested       = $this->requested;
		$this->requested = array();
		return $requested;
	}

	public function test_downtime_causes_one_attempt_for_all_events_and_recovery_sends_all_in_order(): void {
		$this->gateway = static fn() => 0;
		$this->add( 'a', 'b', 'c' );
		$this->assertSame( 'gateway', $this->runner->run()['reason'] );
		$this->assertSame( array( 'a' ), $this->requested() );
		$this->runner->run();
		$this->assertSame( array(), $this->requested(), 'nothing is due' );
		$this->assertStringContainsString( 'Connection refused', $this->queue->list()[0]['last_error'] );

		$this->advance( 15 );
		$this->runner->run();
		$this->assertSame( array( 'a' ), $this->requested(), 'the oldest is retried' );
		$this->gateway = static fn() => 200;
		$this->advance( 40 );
		$this->assertSame( 3, $this->runner->run()['sent'] );
		$this->assertSame( array( 'a', 'b', 'c' ), $this->requested() );
		$this->assertNull( Tocsin_Downtime::current() );
	}

	public function test_new_event_probes_the_gateway_within_a_minute_during_a_long_downtime(): void {
		update_option( 'tocsin_outage', array( 'failures' => 7, 'since' => 0, 'probed_at' => Tocsin_Queue::now(), 'until' => Tocsin_Queue::now() + 10800000 ) );
		$this->add( 'old' );
		$this->advance( 30 );
		$this->add( 'new' );
		$this->runner->run();
		$this->assertSame( array(), $this->requested() );
		$this->advance( 31 );
		$this->runner->run();
		$this->assertSame( array( 'old', 'new' ), $this->requested(), 'the older event is sent first' );
	}

	public function test_retry_after_applies_to_new_events_too(): void {
		$this->gateway     = static fn() => 429;
		$this->retry_after = '300';
		$this->add( 'a', 'b' );
		$this->runner->run();
		$this->assertSame( array( 'a' ), $this->requested() );
		$this->advance( 200 );
		$this->add( 'c' );
		$this->runner->run();
		$this->assertSame( array(), $this->requested() );
	}

	/**
	 * @dataProvider statuses_for_one_event
	 */
	public function test_event_that_always_fails_does_not_block_the_others( int $status ): void {
		$this->gateway = static fn( $title ) => 'poison' === $title ? $status : 200;
		$this->add( 'poison', 'b' );
		foreach ( array( 1, 12, 37, 150 ) as $seconds ) {
			$this->advance( $seconds );
			$this->runner->run();
		}
		$this->assertSame( array( 'poison', 'poison', 'poison', 'poison', 'b' ), array_slice( $this->requested(), 0, 5 ) );
		$this->assertSame( 1, $this->queue->counts()['sent'] );
		$this->assertNull( Tocsin_Downtime::current() );
	}

	public function statuses_for_one_event(): array {
		return array( 'internal error' => array( 500 ), 'bad gateway' => array( 502 ), 'firewall' => array( 403 ), 'firewall closes the connection' => array( 0 ) );
	}

	/**
	 * @dataProvider statuses_for_all_events
	 */
	public function test_run_makes_few_attempts_if_all_events_fail( int $status ): void {
		$this->gateway = static fn() => $status;
		$this->add( ...array_map( static fn( $number ) => "number $number", range( 1, 30 ) ) );
		foreach ( array( 1, 1, 1, 3 ) as $run => $limit ) {
			$this->runner->run();
			$requested = count( $this->requested() );
			$this->assertTrue( $requested >= 1 && $requested <= $limit, "$requested in run $run" );
			$this->advance( 15000 );
		}
		global $wpdb;
		$wpdb->query( 'UPDATE ' . Tocsin_Queue::table() . ' SET attempts = 9' );
		$this->runner->run();
		$this->assertLessThanOrEqual( 3, count( $this->requested() ), 'even if all events have failed often' );
	}

	public function statuses_for_all_events(): array {
		return array( array( 0 ), array( 204 ), array( 301 ), array( 404 ), array( 503 ) );
	}

	public function test_run_that_cannot_record_results_does_not_start_another(): void {
		$this->add( 'a', 'b' );
		$log = ini_set( 'error_log', '/dev/null' );
		add_filter( 'query', static fn( $sql ) => false !== strpos( $sql, "SET state = 'sent'" ) ? '' : $sql );
		$this->runner->run();
		ini_set( 'error_log', $log );
		$this->assertSame( array( array( 'a' ), 0 ), array( $this->requested(), $this->loopbacks ) );
	}

	public function test_times_in_the_future_from_a_wrong_clock_are_ignored(): void {
		$ahead = Tocsin_Queue::now() + 7200000;
		( new Tocsin_Lock() )->acquire( 7200000 );
		update_option( 'tocsin_outage', array( 'failures' => 1, 'since' => $ahead, 'probed_at' => $ahead, 'until' => $ahead + 10000 ) );
		update_option( 'tocsin_loopback_blocked', $ahead );
		wp_unschedule_hook( 'tocsin_run' );
		wp_schedule_event( time() + 7200, 'tocsin_five_minutes', 'tocsin_run' );
		( new Tocsin_Schedule() )->ensure_scheduled();
		$this->assertLessThanOrEqual( time() + 300, wp_next_scheduled( 'tocsin_run' ) );
		$this->assertFalse( Tocsin_Lock::is_held() );
		$this->add( 'a' );
		$this->runner->after_request();
		$this->assertSame( 1, $this->loopbacks );
		$this->assertSame( 1, $this->runner->run()['sent'] );
	}

	public function test_downtime_in_a_stale_cache_ends_too(): void {
		$all                  = wp_load_alloptions();
		$all['tocsin_outage'] = serialize( array( 'failures' => 1, 'since' => 0, 'probed_at' => 0, 'until' => 0 ) );
		wp_cache_set( 'alloptions', $all, 'options' );
		// Like MySQL, which does not count a row as changed if it already has the value.
		add_filter( 'query', static fn( $sql ) => preg_match( '/^UPDATE .*options.*tocsin_outage/', $sql ) ? "$sql AND 1 = 0" : $sql );
		$this->assertNotNull( Tocsin_Downtime::current() );
		$this->add( 'a' );
		$this->assertSame( 1, $this->runner->run()['sent'] );
		$this->assertNull( Tocsin_Downtime::current() );
	}

	public function test_events_expire_after_a_day_of_downtime(): void {
		$this->gateway = static fn() => 0;
		$this->add( 'a', 'b' );
		$this->runner->run();
		$this->advance( 86401 );
		$this->assertSame( 2, $this->runner->run()['expired'] );
		$this->assertSame( array( 'a' ), $this->requested() );
		$this->assertStringContainsString( 'Expired', $this->queue->list()[0]['last_error'] );
		$this->assertStringContainsString( 'Connection refused', $this->queue->list()[0]['last_error'] );
	}

	public function test_new_address_and_key_make_waiting_events_due(): void {
		$this->runner->register();
		$this->gateway = static fn() => 401;
		$this->add( 'a' );
		$this->runner->run();
		$this->gateway = static fn() => 200;
		$connection = new Tocsin_Connection();
		$this->assertSame( array(), $connection->save( 'https://other.example.com/', 'svc_another', false ) );
		$this->assertSame( 1, $this->runner->run()['sent'] );
	}

	public function test_only_one_runner_holds_the_lock_until_its_lease_expires(): void {
		$this->add( 'a' );
		$other = new Tocsin_Lock();
		$this->assertTrue( $other->acquire( 60000 ) );
		$this->assertSame( 'busy', $this->runner->run()['reason'] );
		$this->runner->after_request();
		$this->assertSame( 0, $this->loopbacks, 'no loopback request while a runner holds the lock' );
		$other->release();
		$this->assertTrue( $other->acquire( -1 ) );
		$this->assertSame( 1, $this->runner->run()['sent'] );
		$other->release();
		$this->assertFalse( Tocsin_Lock::is_held() );
	}

	public function test_run_is_limited_and_starts_another_for_the_rest(): void {
		$this->add( ...array_map( static fn( $number ) => "number $number", range( 1, 60 ) ) );
		$done = $this->runner->run();
		$this->assertSame( array( 50, 'limit' ), array( $done['sent'], $done['reason'] ) );
		$this->assertSame( 1, $this->loopbacks );
		$this->assertSame( 10, $this->runner->run()['sent'], 'no event stays leased' );
		$this->assertCount( 60, array_unique( $this->requested() ) );
	}

	public function test_end_of_a_request_starts_one_run_if_an_event_is_due(): void {
		$this->runner->after_request();
		$this->assertSame( 0, $this->loopbacks );
		$this->add( 'a' );
		$this->runner->after_request();
		$this->runner->after_request();
		$this->assertSame( 1, $this->loopbacks );
		$this->assertSame( array(), $this->requested(), 'nothing is sent during the request' );
		$this->assertEqualsWithDelta( time(), wp_next_scheduled( 'tocsin_run_due' ), 2, 'if no run can be started, one is scheduled' );
	}

	public function test_run_is_scheduled_for_the_next_due_event(): void {
		$this->gateway = static fn() => 0;
		$this->add( 'a' );
		$this->runner->run();
		$this->assertEqualsWithDelta( $this->queue->next_at() / 1000, wp_next_scheduled( 'tocsin_run_due' ), 1.1 );
		( new Tocsin_Schedule() )->ensure_run_by( Tocsin_Queue::now() );
		$this->assertLessThanOrEqual( time() + 1, wp_next_scheduled( 'tocsin_run_due' ) );
		$this->assertNotFalse( wp_next_scheduled( 'tocsin_run' ) );
		$this->assertNotFalse( wp_next_scheduled( 'tocsin_prune' ) );
	}
}
