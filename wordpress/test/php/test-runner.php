<?php
/**
 * The runner: order, outages, and one at a time.
 */

declare( strict_types=1 );

final class Test_Runner extends Tocsin_Test_Case {

	/** @var Tocsin_Queue */
	private $queue;

	/** @var Tocsin_Runner */
	private $runner;

	/** @var string[] Titles the gateway was asked to take. */
	private $asked = array();

	/** @var callable Title → HTTP status; 0 for no answer. */
	private $gateway;

	/** @var string */
	private $retry_after = '';

	/** @var int */
	private $loopbacks = 0;

	protected function setUp(): void {
		parent::setUp();
		$settings = new Tocsin_Settings( new Tocsin_Templates() );
		$settings->save_url( 'https://gateway.example.com/' );
		$settings->save_key( 'svc_0123456789ABCDEFGHIJKLMNOPQRSTUVabcdef' );
		$this->queue   = new Tocsin_Queue();
		$this->runner  = new Tocsin_Runner( $this->queue, new Tocsin_Client( $settings ) );
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
				$this->asked[] = json_decode( $args['body'], true )['title'];
				$status        = ( $this->gateway )( end( $this->asked ) );
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

	private function pass( int $seconds ): void {
		global $wpdb;
		$ms = $seconds * 1000;
		$wpdb->query( 'UPDATE ' . Tocsin_Queue::table() . " SET next_at = next_at - $ms, created_at = created_at - $ms, give_up_at = give_up_at - $ms" );
		$outage = get_option( 'tocsin_outage' );
		if ( $outage ) {
			update_option( 'tocsin_outage', array( 'failures' => $outage['failures'], 'since' => $outage['since'] - $ms, 'probed_at' => $outage['probed_at'] - $ms, 'until' => $outage['until'] - $ms ) );
		}
	}

	private function asked(): array {
		$asked       = $this->asked;
		$this->asked = array();
		return $asked;
	}

	public function test_one_try_stands_for_all_and_at_recovery_all_go_in_order(): void {
		$this->gateway = static fn() => 0;
		$this->add( 'a', 'b', 'c' );
		$this->assertSame( 'gateway', $this->runner->run()['reason'] );
		$this->assertSame( array( 'a' ), $this->asked() );
		$this->runner->run();
		$this->assertSame( array(), $this->asked(), 'nothing is due' );
		$this->assertStringContainsString( 'Connection refused', $this->queue->list()[0]['last_error'] );

		$this->pass( 15 );
		$this->runner->run();
		$this->assertSame( array( 'a' ), $this->asked(), 'the oldest asks again' );
		$this->gateway = static fn() => 200;
		$this->pass( 40 );
		$this->assertSame( 3, $this->runner->run()['sent'] );
		$this->assertSame( array( 'a', 'b', 'c' ), $this->asked() );
		$this->assertNull( Tocsin_Downtime::current() );
	}

	public function test_a_new_event_asks_again_within_a_minute_however_long_the_outage(): void {
		update_option( 'tocsin_outage', array( 'failures' => 7, 'since' => 0, 'probed_at' => Tocsin_Queue::now(), 'until' => Tocsin_Queue::now() + 10800000 ) );
		$this->add( 'old' );
		$this->pass( 30 );
		$this->add( 'new' );
		$this->runner->run();
		$this->assertSame( array(), $this->asked() );
		$this->pass( 31 );
		$this->runner->run();
		$this->assertSame( array( 'old', 'new' ), $this->asked(), 'and the old one goes first' );
	}

	public function test_the_wait_that_the_gateway_asks_for_holds_for_new_events_too(): void {
		$this->gateway     = static fn() => 429;
		$this->retry_after = '300';
		$this->add( 'a', 'b' );
		$this->runner->run();
		$this->assertSame( array( 'a' ), $this->asked() );
		$this->pass( 200 );
		$this->add( 'c' );
		$this->runner->run();
		$this->assertSame( array(), $this->asked() );
	}

	/**
	 * @dataProvider answers_about_one
	 */
	public function test_an_event_that_breaks_the_gateway_does_not_hold_up_the_others_for_long( int $status ): void {
		$this->gateway = static fn( $title ) => 'poison' === $title ? $status : 200;
		$this->add( 'poison', 'b' );
		foreach ( array( 1, 12, 37, 150 ) as $seconds ) {
			$this->pass( $seconds );
			$this->runner->run();
		}
		$this->assertSame( array( 'poison', 'poison', 'poison', 'poison', 'b' ), array_slice( $this->asked(), 0, 5 ) );
		$this->assertSame( 1, $this->queue->counts()['sent'] );
		$this->assertNull( Tocsin_Downtime::current() );
	}

	public function answers_about_one(): array {
		return array( 'a mistake of the gateway' => array( 500 ), 'the gateway falls over' => array( 502 ), 'a firewall' => array( 403 ), 'a firewall that hangs up' => array( 0 ) );
	}

	/**
	 * @dataProvider answers_of_no_gateway
	 */
	public function test_whatever_is_wrong_on_the_way_few_events_ask_in_a_run( int $status ): void {
		$this->gateway = static fn() => $status;
		$this->add( ...array_map( static fn( $number ) => "number $number", range( 1, 30 ) ) );
		foreach ( array( 1, 1, 1, 3 ) as $turn => $most ) {
			$this->runner->run();
			$asked = count( $this->asked() );
			$this->assertTrue( $asked >= 1 && $asked <= $most, "$asked in turn $turn" );
			$this->pass( 15000 );
		}
		global $wpdb;
		$wpdb->query( 'UPDATE ' . Tocsin_Queue::table() . ' SET attempts = 9' );
		$this->runner->run();
		$this->assertLessThanOrEqual( 3, count( $this->asked() ), 'also when all of them have failed often' );
	}

	public function answers_of_no_gateway(): array {
		return array( array( 0 ), array( 204 ), array( 301 ), array( 404 ), array( 503 ) );
	}

	public function test_a_run_that_cannot_write_down_what_came_of_it_does_not_start_another(): void {
		$this->add( 'a', 'b' );
		$log = ini_set( 'error_log', '/dev/null' );
		add_filter( 'query', static fn( $sql ) => false !== strpos( $sql, "SET state = 'sent'" ) ? '' : $sql );
		$this->runner->run();
		ini_set( 'error_log', $log );
		$this->assertSame( array( array( 'a' ), 0 ), array( $this->asked(), $this->loopbacks ) );
	}

	public function test_a_clock_that_was_ahead_holds_nothing_up(): void {
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

	public function test_an_outage_that_only_a_stale_cache_knows_ends_too(): void {
		$all                  = wp_load_alloptions();
		$all['tocsin_outage'] = serialize( array( 'failures' => 1, 'since' => 0, 'probed_at' => 0, 'until' => 0 ) );
		wp_cache_set( 'alloptions', $all, 'options' );
		// As MySQL does: a row that already says so does not count as changed.
		add_filter( 'query', static fn( $sql ) => preg_match( '/^UPDATE .*options.*tocsin_outage/', $sql ) ? "$sql AND 1 = 0" : $sql );
		$this->assertNotNull( Tocsin_Downtime::current() );
		$this->add( 'a' );
		$this->assertSame( 1, $this->runner->run()['sent'] );
		$this->assertNull( Tocsin_Downtime::current() );
	}

	public function test_after_a_day_without_the_gateway_everything_is_given_up(): void {
		$this->gateway = static fn() => 0;
		$this->add( 'a', 'b' );
		$this->runner->run();
		$this->pass( 86401 );
		$this->assertSame( 2, $this->runner->run()['expired'] );
		$this->assertSame( array( 'a' ), $this->asked() );
		$this->assertStringContainsString( 'Expired', $this->queue->list()[0]['last_error'] );
		$this->assertStringContainsString( 'Connection refused', $this->queue->list()[0]['last_error'] );
	}

	public function test_a_new_address_or_key_sends_what_waits(): void {
		$this->runner->register();
		$this->gateway = static fn() => 401;
		$this->add( 'a' );
		$this->runner->run();
		$this->gateway = static fn() => 200;
		$settings = new Tocsin_Settings( new Tocsin_Templates() );
		$this->assertSame( array(), $settings->save_connection( 'https://other.example.com/', 'svc_another', false ) );
		$this->assertSame( 1, $this->runner->run()['sent'] );
	}

	public function test_only_one_runner_is_at_work_and_a_dead_one_is_replaced(): void {
		$this->add( 'a' );
		$other = new Tocsin_Lock();
		$this->assertTrue( $other->acquire( 60000 ) );
		$this->assertSame( 'busy', $this->runner->run()['reason'] );
		$this->runner->after_request();
		$this->assertSame( 0, $this->loopbacks, 'no loop-back while a runner is at work' );
		$other->release();
		$this->assertTrue( $other->acquire( -1 ) );
		$this->assertSame( 1, $this->runner->run()['sent'] );
		$other->release();
		$this->assertFalse( Tocsin_Lock::is_held() );
	}

	public function test_a_run_is_limited_and_the_rest_follows_in_another(): void {
		$this->add( ...array_map( static fn( $number ) => "number $number", range( 1, 60 ) ) );
		$done = $this->runner->run();
		$this->assertSame( array( 50, 'limit' ), array( $done['sent'], $done['reason'] ) );
		$this->assertSame( 1, $this->loopbacks );
		$this->assertSame( 10, $this->runner->run()['sent'], 'nothing stays claimed' );
		$this->assertCount( 60, array_unique( $this->asked() ) );
	}

	public function test_the_end_of_a_request_asks_for_one_run_and_only_when_something_is_due(): void {
		$this->runner->after_request();
		$this->assertSame( 0, $this->loopbacks );
		$this->add( 'a' );
		$this->runner->after_request();
		$this->runner->after_request();
		$this->assertSame( 1, $this->loopbacks );
		$this->assertSame( array(), $this->asked(), 'nothing is sent while a visitor waits' );
		$this->assertEqualsWithDelta( time(), wp_next_scheduled( 'tocsin_run_due' ), 2, 'and where no run can be started, the clock does it soon' );
	}

	public function test_the_clock_comes_back_when_the_next_event_is_due(): void {
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
