<?php
/**
 * Status of the queue.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Shows event counts, the next attempt, and how this site sends and retries events.
 */
final class Tocsin_Admin_Status {

	/**
	 * Seconds after which a due event that still waits indicates that no runner is working.
	 */
	const LATE_SECONDS = 300;

	/**
	 * The plugin's services.
	 *
	 * @var Tocsin_Companion
	 */
	private Tocsin_Companion $companion;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Companion $companion The plugin's services.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->companion = $companion;
	}

	/**
	 * Prints the status.
	 */
	public function render(): void {
		$counts = $this->companion->queue()->counts();
		$next   = null === $counts['next_at'] ? null : (int) ceil( (float) $counts['next_at'] / 1000 );
		echo '<section class="tocsin-card" aria-labelledby="tocsin-status">';
		echo '<h2 id="tocsin-status">' . esc_html__( 'Status', 'tocsin' ) . '</h2>';
		echo '<ul class="tocsin-numbers">';
		foreach ( Tocsin_Admin_Log::states() as $state => $name ) {
			$count = (int) ( $counts[ $state ] ?? 0 );
			printf(
				'<li class="%s"><a href="%s"><strong>%s</strong> %s</a></li>',
				esc_attr( 'dead' === $state && $count > 0 ? 'is-bad' : 'is-fine' ),
				esc_url( Tocsin_Admin::url( Tocsin_Admin::LOG, array( 'state' => $state ) ) ),
				esc_html( number_format_i18n( $count ) ),
				esc_html( $name )
			);
		}
		echo '</ul><dl>';
		self::print_row( __( 'Next attempt', 'tocsin' ), self::next_attempt( $next ) );
		self::print_row( __( 'Sending', 'tocsin' ), self::sending_method() );
		self::print_row( __( 'Retries', 'tocsin' ), self::retry_method() );
		if ( (int) ( $counts['refused'] ?? 0 ) > 0 ) {
			/* translators: %d: number of events. */
			self::print_row( __( 'Queue full', 'tocsin' ), sprintf( _n( '%d event was dropped', '%d events were dropped', (int) $counts['refused'], 'tocsin' ), (int) $counts['refused'] ) );
		}
		self::print_row( __( 'Enabled', 'tocsin' ), $this->enabled_templates() );
		echo '</dl></section>';
		if ( null !== $next && time() - $next > self::LATE_SECONDS ) {
			Tocsin_Admin_Notices::show(
				'warning',
				__( 'Due events are not being sent.', 'tocsin' ),
				array( __( 'The loopback request fails and WP-Cron does not run. Set up a system cron job that requests wp-cron.php every minute, or run "wp tocsin queue run".', 'tocsin' ) ),
				false
			);
		}
	}

	/**
	 * Prints one row.
	 *
	 * @param string $name  Label.
	 * @param string $value Value.
	 */
	private static function print_row( string $name, string $value ): void {
		echo '<dt>' . esc_html( $name ) . '</dt><dd>' . esc_html( $value ) . '</dd>';
	}

	/**
	 * Describes the time of the next attempt.
	 *
	 * @param int|null $next Unix time; null if the queue is empty.
	 */
	private static function next_attempt( ?int $next ): string {
		if ( null === $next ) {
			return __( 'queue is empty', 'tocsin' );
		}
		return $next > time() ? Tocsin_Admin_Labels::relative_time( $next ) : __( 'now', 'tocsin' );
	}

	/**
	 * Describes how this site sends events. Must match Tocsin_Runner.
	 */
	private static function sending_method(): string {
		return function_exists( 'fastcgi_finish_request' ) || function_exists( 'litespeed_finish_request' )
			? __( 'immediately after the page is delivered', 'tocsin' )
			: __( 'immediately after the page, by a loopback request', 'tocsin' );
	}

	/**
	 * Describes how this site schedules retries. Must match Tocsin_Schedule.
	 */
	private static function retry_method(): string {
		if ( function_exists( 'as_schedule_single_action' ) ) {
			return __( 'by Action Scheduler', 'tocsin' );
		}
		return defined( 'DISABLE_WP_CRON' ) && DISABLE_WP_CRON
			? __( 'by a system cron job (DISABLE_WP_CRON is set)', 'tocsin' )
			: __( 'by WP-Cron, when the site is visited', 'tocsin' );
	}

	/**
	 * Returns the number of enabled templates.
	 */
	private function enabled_templates(): string {
		$visible = $this->companion->templates()->visible();
		$count   = 0;
		foreach ( $visible as $template ) {
			$count += $this->companion->template_settings()->is_enabled( $template->id() ) ? 1 : 0;
		}
		/* translators: 1: number of enabled templates, 2: number of all templates. */
		return sprintf( __( '%1$d of %2$d templates', 'tocsin' ), $count, count( $visible ) );
	}
}
