<?php
/**
 * Runs by the clock.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * The safety net behind sending after the request: a run every five minutes and one when the next event is due. The latter is Action
 * Scheduler's where a plugin brings it, else WP-Cron's.
 */
class Tocsin_Schedule {

	const EVERY_FIVE_MINUTES = 'tocsin_run';
	const WHEN_DUE           = 'tocsin_run_due';
	const DAILY              = 'tocsin_prune';
	const GROUP              = 'tocsin';

	/**
	 * Attaches to WordPress.
	 *
	 * @param callable $run   Sends what is due.
	 * @param callable $prune Removes what is old.
	 */
	public function register( callable $run, callable $prune ): void {
		add_filter( 'cron_schedules', array( $this, 'add_interval' ) ); // phpcs:ignore WordPress.WP.CronInterval
		add_action( 'init', fn() => Tocsin_Listener::without_events( array( $this, 'ensure_scheduled' ) ) );
		add_action( self::EVERY_FIVE_MINUTES, $run, 10, 0 );
		add_action( self::WHEN_DUE, $run, 10, 0 );
		add_action( self::DAILY, $prune, 10, 0 );
	}

	/**
	 * Adds the interval of the safety net.
	 *
	 * @param array $intervals What WordPress and other plugins know.
	 */
	public function add_interval( $intervals ) {
		$intervals                        = is_array( $intervals ) ? $intervals : array();
		$intervals['tocsin_five_minutes'] = array(
			'interval' => 300,
			'display'  => __( 'Every five minutes (Tocsin)', 'tocsin' ),
		);
		return $intervals;
	}

	/**
	 * Schedules what is not scheduled, or so late that a clock must have been wrong. Looks only at an option that WordPress has loaded anyway.
	 */
	public function ensure_scheduled(): void {
		self::ensure_recurring( self::EVERY_FIVE_MINUTES, 'tocsin_five_minutes', 5 * MINUTE_IN_SECONDS );
		self::ensure_recurring( self::DAILY, 'daily', DAY_IN_SECONDS );
	}

	/**
	 * Schedules one hook that comes again and again.
	 *
	 * @param string $hook     What.
	 * @param string $interval WordPress's name of how often.
	 * @param int    $seconds  The same in seconds.
	 */
	private static function ensure_recurring( string $hook, string $interval, int $seconds ): void {
		$next = wp_next_scheduled( $hook );
		if ( ! $next || $next > time() + 2 * $seconds ) {
			wp_unschedule_hook( $hook );
			wp_schedule_event( time() + $seconds, $interval, $hook );
		}
	}

	/**
	 * Sees to it that there is a run no later than then.
	 *
	 * @param int $at Milliseconds.
	 */
	public function ensure_run_by( int $at ): void {
		$second = (int) ceil( $at / 1000 );
		if ( function_exists( 'as_schedule_single_action' ) && did_action( 'action_scheduler_init' ) ) {
			$next = as_next_scheduled_action( self::WHEN_DUE, array(), self::GROUP );
			// True means that one is at work; it may be the very one that asks.
			if ( ! is_int( $next ) || $next > $second ) {
				as_unschedule_all_actions( self::WHEN_DUE, array(), self::GROUP );
				as_schedule_single_action( $second, self::WHEN_DUE, array(), self::GROUP );
			}
			return;
		}
		$next = wp_next_scheduled( self::WHEN_DUE );
		if ( ! $next || $next > $second ) {
			// WordPress takes no second event of a name within ten minutes of the first.
			wp_clear_scheduled_hook( self::WHEN_DUE );
			wp_schedule_single_event( $second, self::WHEN_DUE );
		}
	}

	/**
	 * When the next run is scheduled, in seconds, or null.
	 *
	 * @return int|null
	 */
	public static function next() {
		$times = array( wp_next_scheduled( self::EVERY_FIVE_MINUTES ), wp_next_scheduled( self::WHEN_DUE ) );
		if ( function_exists( 'as_next_scheduled_action' ) && did_action( 'action_scheduler_init' ) ) {
			$times[] = as_next_scheduled_action( self::WHEN_DUE, array(), self::GROUP );
		}
		$times = array_filter( $times, 'is_int' );
		return $times ? min( $times ) : null;
	}

	/**
	 * Takes every scheduled run back.
	 */
	public static function unschedule_all(): void {
		wp_unschedule_hook( self::EVERY_FIVE_MINUTES );
		wp_unschedule_hook( self::WHEN_DUE );
		wp_unschedule_hook( self::DAILY );
		if ( function_exists( 'as_unschedule_all_actions' ) && did_action( 'action_scheduler_init' ) ) {
			as_unschedule_all_actions( '', array(), self::GROUP );
		}
	}
}
