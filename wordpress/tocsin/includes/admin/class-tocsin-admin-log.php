<?php
/**
 * The screen "Log".
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Lists sent, waiting and failed events, and sends them again.
 */
final class Tocsin_Admin_Log implements Tocsin_Admin_Screen {

	const RESEND   = 'tocsin_resend';
	const PER_PAGE = 'tocsin_log_per_page';

	/**
	 * The plugin's services.
	 *
	 * @var Tocsin_Companion
	 */
	private Tocsin_Companion $companion;

	/**
	 * State and search term to filter by.
	 *
	 * @var array{state: string, search: string}
	 */
	private array $filter;

	/**
	 * List table of the events.
	 *
	 * @var Tocsin_Admin_Log_Table
	 */
	private Tocsin_Admin_Log_Table $table;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Companion $companion The plugin's services.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->companion = $companion;
	}

	/**
	 * Name of the screen in menu and heading.
	 */
	public function name(): string {
		return __( 'Log', 'tocsin' );
	}

	/**
	 * Returns the labels of the states.
	 *
	 * @return array<string, string>
	 */
	public static function states(): array {
		return array(
			'sent'    => __( 'Sent', 'tocsin' ),
			'waiting' => __( 'Waiting', 'tocsin' ),
			'dead'    => __( 'Failed', 'tocsin' ),
		);
	}

	/**
	 * Adds the screen options. The table must exist by now, because WordPress reads its columns before the page is rendered.
	 */
	public function load(): void {
		$this->filter = array(
			'state'  => isset( self::states()[ self::query( 'state' ) ] ) ? self::query( 'state' ) : '',
			'search' => self::query( 's' ),
		);
		$this->table  = new Tocsin_Admin_Log_Table( $this->companion, $this->filter );
		add_screen_option(
			'per_page',
			array(
				'label'   => __( 'Events per page', 'tocsin' ),
				'default' => 20,
				'option'  => self::PER_PAGE,
			)
		);
	}

	/**
	 * Sanitizes the screen option before WordPress saves it.
	 *
	 * @param mixed $kept   Value to save; false rejects it.
	 * @param mixed $option Name of the option.
	 * @param mixed $value  Submitted value.
	 */
	public static function accept_per_page( $kept, $option, $value ): int {
		return max( 1, min( 200, (int) $value ) );
	}

	/**
	 * Handlers of the forms and links.
	 *
	 * @return array<string, callable(): void>
	 */
	public function actions(): array {
		return array( self::RESEND => array( $this, 'resend' ) );
	}

	/**
	 * Prints the screen.
	 */
	public function render(): void {
		$table  = $this->table;
		$filter = $this->filter;
		$table->prepare_items();
		$table->views();
		printf( '<form method="get" action="%s">', esc_url( admin_url( 'admin.php' ) ) );
		printf( '<input type="hidden" name="page" value="%s">', esc_attr( Tocsin_Admin::LOG ) );
		if ( '' !== $filter['state'] ) {
			printf( '<input type="hidden" name="state" value="%s">', esc_attr( $filter['state'] ) );
		}
		$table->search_box( __( 'Search events', 'tocsin' ), 'tocsin' );
		echo '</form>';
		Tocsin_Admin::open_form( self::RESEND );
		$table->display();
		echo '</form>';
	}

	/**
	 * Sends one event (link) or several (form) again.
	 */
	public function resend(): void {
		// phpcs:disable WordPress.Security.NonceVerification, WordPress.Security.ValidatedSanitizedInput -- Tocsin_Admin has checked the nonce; values are cast to integers.
		$events = isset( $_REQUEST['events'] ) && is_array( $_REQUEST['events'] ) ? $_REQUEST['events'] : array( $_REQUEST['event'] ?? null );
		// phpcs:enable
		$ids = array_map( 'intval', array_filter( $events, 'is_scalar' ) );
		if ( array() === $ids ) {
			Tocsin_Admin_Notices::add( 'warning', __( 'Select the events to send again first.', 'tocsin' ) );
			return;
		}
		$count = 0;
		foreach ( array_unique( $ids ) as $id ) {
			$count += $this->companion->queue()->resend( $id ) ? 1 : 0;
		}
		if ( 0 === $count ) {
			Tocsin_Admin_Notices::add( 'error', __( 'Event not found. It may have been deleted.', 'tocsin' ) );
			return;
		}
		Tocsin_Admin_Notices::add(
			'success',
			/* translators: %d: number of events. */
			sprintf( _n( '%d event is being sent again.', '%d events are being sent again.', $count, 'tocsin' ), $count )
		);
	}

	/**
	 * Returns a query argument as text.
	 *
	 * @param string $name Name of the argument.
	 */
	private static function query( string $name ): string {
		// phpcs:ignore WordPress.Security.NonceVerification.Recommended, WordPress.Security.ValidatedSanitizedInput -- Read-only filter; sanitized here.
		return isset( $_GET[ $name ] ) && is_string( $_GET[ $name ] ) ? sanitize_text_field( wp_unslash( $_GET[ $name ] ) ) : '';
	}
}
