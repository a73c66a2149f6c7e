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
		$this->assertNull( Tocsin_Outage::current() );
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

	public function test_an_event_that_breaks_the_gateway_does_not_hold_up_the_others_for_long(): void {
		$this->gateway = static fn( $title ) => 'poison' === $title ? 500 : 200;
		$this->add( 'poison', 'b' );
		foreach ( array( 1, 12, 37, 150 ) as $seconds ) {
			$this->pass( $seconds );
			$this->runner->run();
		}
		$this->assertSame( array( 'poison', 'poison', 'poison', 'poison', 'b' ), array_slice( $this->asked(), 0, 5 ) );
		$this->assertSame( 1, $this->queue->counts()['sent'] );
	}

	public function test_after_a_day_without_the_gateway_everything_is_given_up(): void {
		$this->gateway = static fn() => 0;
		$this->add( 'a', 'b' );
		$this->runner->run();
		$this->pass( 86401 );
		$this->assertSame( 2, $this->runner->run()['given_up'] );
		$this->assertSame( array( 'a' ), $this->asked() );
		$this->assertStringContainsString( 'Given up', $this->queue->list()[0]['last_error'] );
		$this->assertStringContainsString( 'Connection refused', $this->queue->list()[0]['last_error'] );
	}

	public function test_a_new_address_or_key_sends_what_waits(): void {
		$this->runner->register();
		$this->gateway = static fn() => 401;
		$this->add( 'a' );
		$this->runner->run();
		$this->gateway = static fn() => 200;
		( new Tocsin_Settings( new Tocsin_Templates() ) )->save_url( 'https://other.example.com/' );
		$this->assertSame( 1, $this->runner->run()['sent'] );
	}

	public function test_only_one_runner_is_at_work_and_a_dead_one_is_replaced(): void {
		$this->add( 'a' );
		$other = new Tocsin_Lock();
		$this->assertTrue( $other->take( 60000 ) );
		$this->assertSame( 'busy', $this->runner->run()['reason'] );
		$this->runner->after_request();
		$this->assertSame( 0, $this->loopbacks, 'no loop-back while a runner is at work' );
		$other->give_back();
		$this->assertTrue( $other->take( -1 ) );
		$this->assertSame( 1, $this->runner->run()['sent'] );
		$other->give_back();
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
	}

	public function test_the_clock_comes_back_when_the_next_event_is_due(): void {
		$this->gateway = static fn() => 0;
		$this->add( 'a' );
		$this->runner->run();
		$this->assertEqualsWithDelta( $this->queue->next_at() / 1000, wp_next_scheduled( 'tocsin_run_due' ), 1.1 );
		( new Tocsin_Schedule() )->at( Tocsin_Queue::now() );
		$this->assertLessThanOrEqual( time() + 1, wp_next_scheduled( 'tocsin_run_due' ) );
		$this->assertNotFalse( wp_next_scheduled( 'tocsin_run' ) );
		$this->assertNotFalse( wp_next_scheduled( 'tocsin_prune' ) );
	}
}
