<?php
/**
 * The table of the screen "Log".
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

if ( ! class_exists( 'WP_List_Table' ) ) {
	require_once ABSPATH . 'wp-admin/includes/class-wp-list-table.php';
}

/**
 * Lists events with their delivery status.
 */
final class Tocsin_Admin_Log_Table extends WP_List_Table {

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
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Companion                     $companion The plugin's services.
	 * @param array{state: string, search: string} $filter    State and search term to filter by.
	 */
	public function __construct( Tocsin_Companion $companion, array $filter ) {
		parent::__construct(
			array(
				'singular' => 'event',
				'plural'   => 'events',
				'ajax'     => false,
			)
		);
		$this->companion = $companion;
		$this->filter    = $filter;
	}

	/**
	 * Reads one page of the log.
	 */
	public function prepare_items() {
		$per_page    = $this->get_items_per_page( Tocsin_Admin_Log::PER_PAGE, 20 );
		$this->items = $this->companion->queue()->list(
			$this->filter + array(
				'per_page' => $per_page,
				'page'     => $this->get_pagenum(),
			)
		);
		$this->set_pagination_args(
			array(
				'total_items' => $this->companion->queue()->count( $this->filter ),
				'per_page'    => $per_page,
			)
		);
	}

	/**
	 * Returns the columns.
	 *
	 * @return array<string, string>
	 */
	public function get_columns() {
		return array(
			'cb'       => '<input type="checkbox">',
			'title'    => __( 'Title', 'tocsin' ),
			'template' => __( 'Template', 'tocsin' ),
			'state'    => __( 'State', 'tocsin' ),
			'attempts' => __( 'Attempts', 'tocsin' ),
			'status'   => __( 'HTTP', 'tocsin' ),
			'time'     => __( 'Time', 'tocsin' ),
		);
	}

	/**
	 * Returns the column that remains visible on a small screen.
	 *
	 * @return string
	 */
	protected function get_default_primary_column_name() {
		return 'title';
	}

	/**
	 * Returns links that filter by state, with the number of events.
	 *
	 * @return array<string, string>
	 */
	protected function get_views() {
		$counts = $this->companion->queue()->counts();
		$names  = Tocsin_Admin_Log::states();
		$all    = 0;
		$links  = array();
		foreach ( $names as $state => $name ) {
			$count           = (int) ( $counts[ $state ] ?? 0 );
			$all            += $count;
			$links[ $state ] = $this->view_link( $state, $name, $count );
		}
		return array( 'all' => $this->view_link( '', __( 'All', 'tocsin' ), $all ) ) + $links;
	}

	/**
	 * Returns a link that filters by state.
	 *
	 * @param string $state State, or empty for all.
	 * @param string $name  Label of the state.
	 * @param int    $count Number of events.
	 */
	private function view_link( string $state, string $name, int $count ): string {
		return sprintf(
			'<a href="%s"%s>%s <span class="count">(%s)</span></a>',
			esc_url( Tocsin_Admin::url( Tocsin_Admin::LOG, '' === $state ? array() : array( 'state' => $state ) ) ),
			$state === $this->filter['state'] ? ' class="current" aria-current="page"' : '',
			esc_html( $name ),
			esc_html( number_format_i18n( $count ) )
		);
	}

	/**
	 * Prints a button instead of a menu, because there is only one bulk action.
	 *
	 * @param string $which Position: top or bottom.
	 */
	protected function bulk_actions( $which = '' ) {
		printf( '<button type="submit" class="button action" id="tocsin-resend-%s">%s</button>', esc_attr( $which ), esc_html__( 'Send selected again', 'tocsin' ) );
	}

	/**
	 * Returns the bulk actions. WordPress calls bulk_actions() only if there are any.
	 *
	 * @return array<string, string>
	 */
	protected function get_bulk_actions() {
		return array( Tocsin_Admin_Log::RESEND => __( 'Send again', 'tocsin' ) );
	}

	/**
	 * Prints the message for an empty table.
	 */
	public function no_items() {
		if ( '' !== $this->filter['state'] || '' !== $this->filter['search'] ) {
			esc_html_e( 'No event matches.', 'tocsin' );
			return;
		}
		esc_html_e( 'No events yet. Events of enabled templates appear here; monitoring checks do not.', 'tocsin' );
	}

	/**
	 * Returns the checkbox of a row.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_cb( $item ) {
		$id = 'tocsin-event-' . (int) $item['id'];
		return sprintf(
			'<label class="screen-reader-text" for="%1$s">%2$s</label><input type="checkbox" id="%1$s" name="events[]" value="%3$d">',
			esc_attr( $id ),
			/* translators: %s: title of an event. */
			esc_html( sprintf( __( 'Select %s', 'tocsin' ), $item['title'] ) ),
			(int) $item['id']
		);
	}

	/**
	 * Returns the title, with the other fields in a collapsed section.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_title( $item ) {
		$details = array( __( 'Text', 'tocsin' ) => (string) $item['body'] );
		if ( ! empty( $item['severity'] ) ) {
			$details[ __( 'Severity', 'tocsin' ) ] = (string) $item['severity'];
		}
		if ( ! empty( $item['notification_id'] ) ) {
			$details[ __( 'Notification', 'tocsin' ) ] = (string) $item['notification_id'];
		}
		$html = '';
		foreach ( array_filter( $details, 'strlen' ) + self::flatten( (array) $item['payload'] ) as $name => $value ) {
			$html .= '<dt>' . esc_html( (string) $name ) . '</dt><dd>' . esc_html( $value ) . '</dd>';
		}
		return sprintf(
			'<strong>%s</strong>%s<details><summary>%s</summary><dl class="tocsin-payload">%s</dl></details>',
			esc_html( (string) $item['title'] ),
			$this->resend_link( $item ),
			esc_html__( 'Details', 'tocsin' ),
			$html
		);
	}

	/**
	 * Returns the title of the template, or its id if it is no longer registered.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_template( $item ) {
		$template = $this->companion->templates()->find( (string) $item['template_id'] );
		return esc_html( null === $template ? (string) $item['template_id'] : $template->title() );
	}

	/**
	 * Returns the state, with the last error.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_state( $item ) {
		$state = (string) $item['state'];
		$label = Tocsin_Admin_Log::states()[ $state ] ?? $state;
		if ( 'waiting' === $state ) {
			$next  = (int) ceil( (float) $item['next_at'] / 1000 );
			$label = $next > time()
				/* translators: %s: when, such as "in 2 minutes". */
				? sprintf( __( 'Waiting: next attempt %s', 'tocsin' ), Tocsin_Admin_Labels::relative_time( $next ) )
				: __( 'Waiting: next attempt now', 'tocsin' );
		}
		$html = sprintf( '<span class="tocsin-state is-%s">%s</span>', esc_attr( sanitize_html_class( $state ) ), esc_html( $label ) );
		if ( 'sent' !== $state && '' !== (string) $item['last_error'] ) {
			$html .= '<span class="tocsin-reason">' . esc_html( (string) $item['last_error'] ) . '</span>';
		}
		return $html;
	}

	/**
	 * Returns the number of attempts.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_attempts( $item ) {
		return esc_html( number_format_i18n( (int) $item['attempts'] ) );
	}

	/**
	 * Returns the HTTP status of the last response.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_status( $item ) {
		$status = (int) ( $item['status'] ?? 0 );
		return $status > 0
			? esc_html( (string) $status )
			: '<span aria-hidden="true">—</span><span class="screen-reader-text">' . esc_html__( 'No response', 'tocsin' ) . '</span>';
	}

	/**
	 * Returns the time of the event.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_time( $item ) {
		$seconds = (int) floor( (float) $item['created_at'] / 1000 );
		return sprintf(
			'%s<br><time datetime="%s">%s</time>',
			esc_html( Tocsin_Admin_Labels::relative_time( $seconds ) ),
			esc_attr( gmdate( 'c', $seconds ) ),
			esc_html( Tocsin_Admin_Labels::date_time( $seconds ) )
		);
	}

	/**
	 * Disables the default row actions: column_title() prints them above the details.
	 *
	 * @param array<string, mixed> $item        Event.
	 * @param string               $column_name Column.
	 * @param string               $primary     The primary column.
	 * @return string
	 */
	protected function handle_row_actions( $item, $column_name, $primary ) {
		return '';
	}

	/**
	 * Returns the row action "Send again" or "Send now".
	 *
	 * @param array<string, mixed> $item Event.
	 */
	private function resend_link( array $item ): string {
		$url  = add_query_arg(
			array(
				'action' => Tocsin_Admin_Log::RESEND,
				'event'  => (int) $item['id'],
			),
			admin_url( 'admin-post.php' )
		);
		$text = 'waiting' === $item['state'] ? __( 'Send now', 'tocsin' ) : __( 'Send again', 'tocsin' );
		return $this->row_actions(
			array(
				'resend' => sprintf(
					'<a href="%s" aria-label="%s">%s</a>',
					esc_url( wp_nonce_url( $url, Tocsin_Admin_Log::RESEND, Tocsin_Admin::NONCE ) ),
					esc_attr( $text . ': ' . $item['title'] ),
					esc_html( $text )
				),
			)
		);
	}

	/**
	 * Flattens nested values to a list of names and texts.
	 *
	 * @param array<int|string, mixed> $values Values.
	 * @param string                   $prefix Prefix of the names.
	 * @return array<string, string>
	 */
	private static function flatten( array $values, string $prefix = '' ): array {
		$flat = array();
		foreach ( $values as $name => $value ) {
			if ( is_array( $value ) ) {
				$flat += self::flatten( $value, $prefix . $name . '.' );
			} elseif ( is_bool( $value ) ) {
				$flat[ $prefix . $name ] = $value ? __( 'yes', 'tocsin' ) : __( 'no', 'tocsin' );
			} elseif ( is_scalar( $value ) ) {
				$flat[ $prefix . $name ] = (string) $value;
			}
		}
		return $flat;
	}
}
