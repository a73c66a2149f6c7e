<?php
/**
 * How sending goes on this site, beside the connection.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Numbers of the queue, and which way sending takes here.
 */
final class Tocsin_Admin_Status {

	/**
	 * A due event that still waits after so many seconds says that nothing sends here.
	 */
	const LATE_SECONDS = 300;

	/**
	 * The parts of the plugin.
	 *
	 * @var Tocsin_Companion
	 */
	private Tocsin_Companion $companion;

	/**
	 * Takes the parts.
	 *
	 * @param Tocsin_Companion $companion The parts of the plugin.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->companion = $companion;
	}

	/**
	 * Prints it.
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
	 * One line.
	 *
	 * @param string $name  What it is.
	 * @param string $value How it is.
	 */
	private static function print_row( string $name, string $value ): void {
		echo '<dt>' . esc_html( $name ) . '</dt><dd>' . esc_html( $value ) . '</dd>';
	}

	/**
	 * When the queue moves next.
	 *
	 * @param int|null $next Unix time; null when nothing waits.
	 */
	private static function next_attempt( ?int $next ): string {
		if ( null === $next ) {
			return __( 'queue is empty', 'tocsin' );
		}
		return $next > time() ? Tocsin_Admin_Labels::relative_time( $next ) : __( 'now', 'tocsin' );
	}

	/**
	 * How events leave this site at first; Tocsin_Runner does the same.
	 */
	private static function sending_method(): string {
		return function_exists( 'fastcgi_finish_request' ) || function_exists( 'litespeed_finish_request' )
			? __( 'immediately after the page is delivered', 'tocsin' )
			: __( 'immediately after the page, by a loopback request', 'tocsin' );
	}

	/**
	 * What wakes those up that have to be tried again; Tocsin_Schedule does the same.
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
	 * How many templates are on.
	 */
	private function enabled_templates(): string {
		$visible = $this->companion->templates()->visible();
		$count   = 0;
		foreach ( $visible as $template ) {
			$count += $this->companion->settings()->is_enabled( $template->id() ) ? 1 : 0;
		}
		/* translators: 1: number of templates that are on, 2: number of all templates. */
		return sprintf( __( '%1$d of %2$d templates', 'tocsin' ), $count, count( $visible ) );
	}
}
