<?php
/**
 * Scheduled runs.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Fallback for sending after the request: a run every five minutes and one when the next event is due. The latter uses Action Scheduler if
 * a plugin provides it, otherwise WP-Cron.
 */
class Tocsin_Schedule {

	const EVERY_FIVE_MINUTES = 'tocsin_run';
	const WHEN_DUE           = 'tocsin_run_due';
	const DAILY              = 'tocsin_prune';
	const GROUP              = 'tocsin';

	/**
	 * Registers the hooks.
	 *
	 * @param callable $run   Sends due events.
	 * @param callable $prune Deletes old events.
	 */
	public function register( callable $run, callable $prune ): void {
		add_filter( 'cron_schedules', array( $this, 'add_interval' ) ); // phpcs:ignore WordPress.WP.CronInterval
		add_action( 'init', fn() => Tocsin_Listener::without_events( array( $this, 'ensure_scheduled' ) ) );
		add_action( self::EVERY_FIVE_MINUTES, $run, 10, 0 );
		add_action( self::WHEN_DUE, $run, 10, 0 );
		add_action( self::DAILY, $prune, 10, 0 );
	}

	/**
	 * Adds the interval of five minutes.
	 *
	 * @param array $intervals Intervals of WordPress and other plugins.
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
	 * Schedules recurring hooks that are missing, or so far in the future that the clock must have been wrong. Reads only an autoloaded option.
	 */
	public function ensure_scheduled(): void {
		self::ensure_recurring( self::EVERY_FIVE_MINUTES, 'tocsin_five_minutes', 5 * MINUTE_IN_SECONDS );
		self::ensure_recurring( self::DAILY, 'daily', DAY_IN_SECONDS );
	}

	/**
	 * Schedules a recurring hook.
	 *
	 * @param string $hook     Name of the hook.
	 * @param string $interval Name of the interval.
	 * @param int    $seconds  Length of the interval.
	 */
	private static function ensure_recurring( string $hook, string $interval, int $seconds ): void {
		$next = wp_next_scheduled( $hook );
		if ( ! $next || $next > time() + 2 * $seconds ) {
			wp_unschedule_hook( $hook );
			wp_schedule_event( time() + $seconds, $interval, $hook );
		}
	}

	/**
	 * Ensures that a run is scheduled no later than the given time.
	 *
	 * @param int $at Milliseconds since the Unix epoch.
	 */
	public function ensure_run_by( int $at ): void {
		$second = (int) ceil( $at / 1000 );
		if ( function_exists( 'as_schedule_single_action' ) && did_action( 'action_scheduler_init' ) ) {
			$next = as_next_scheduled_action( self::WHEN_DUE, array(), self::GROUP );
			// True means that an action is in progress; it may be the caller.
			if ( ! is_int( $next ) || $next > $second ) {
				as_unschedule_all_actions( self::WHEN_DUE, array(), self::GROUP );
				as_schedule_single_action( $second, self::WHEN_DUE, array(), self::GROUP );
			}
			return;
		}
		$next = wp_next_scheduled( self::WHEN_DUE );
		if ( ! $next || $next > $second ) {
			// WordPress rejects an event within ten minutes of another one of the same hook.
			wp_clear_scheduled_hook( self::WHEN_DUE );
			wp_schedule_single_event( $second, self::WHEN_DUE );
		}
	}

	/**
	 * Returns the time of the next scheduled run in seconds, or null.
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
	 * Removes all scheduled runs.
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
