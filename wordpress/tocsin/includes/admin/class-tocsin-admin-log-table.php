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
 * Events with what became of them.
 */
final class Tocsin_Admin_Log_Table extends WP_List_Table {

	/**
	 * The parts of the plugin.
	 *
	 * @var Tocsin_Companion
	 */
	private Tocsin_Companion $companion;

	/**
	 * State, search and page asked for.
	 *
	 * @var array{state: string, search: string}
	 */
	private array $wanted;

	/**
	 * Takes the parts.
	 *
	 * @param Tocsin_Companion                     $companion The parts of the plugin.
	 * @param array{state: string, search: string} $wanted    What to show.
	 */
	public function __construct( Tocsin_Companion $companion, array $wanted ) {
		parent::__construct(
			array(
				'singular' => 'event',
				'plural'   => 'events',
				'ajax'     => false,
			)
		);
		$this->companion = $companion;
		$this->wanted    = $wanted;
	}

	/**
	 * Reads one page of the log.
	 */
	public function prepare_items() {
		$per_page    = $this->get_items_per_page( Tocsin_Admin_Log::PER_PAGE, 20 );
		$this->items = $this->companion->queue()->list(
			$this->wanted + array(
				'per_page' => $per_page,
				'page'     => $this->get_pagenum(),
			)
		);
		$this->set_pagination_args(
			array(
				'total_items' => $this->companion->queue()->count( $this->wanted ),
				'per_page'    => $per_page,
			)
		);
	}

	/**
	 * The columns.
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
	 * The column that carries the row on a phone.
	 *
	 * @return string
	 */
	protected function get_default_primary_column_name() {
		return 'title';
	}

	/**
	 * Links that filter by state, with how many there are.
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
	 * One of these links.
	 *
	 * @param string $state State, or empty for all.
	 * @param string $name  Its name.
	 * @param int    $count How many.
	 */
	private function view_link( string $state, string $name, int $count ): string {
		return sprintf(
			'<a href="%s"%s>%s <span class="count">(%s)</span></a>',
			esc_url( Tocsin_Admin::url( Tocsin_Admin::LOG, '' === $state ? array() : array( 'state' => $state ) ) ),
			$state === $this->wanted['state'] ? ' class="current" aria-current="page"' : '',
			esc_html( $name ),
			esc_html( number_format_i18n( $count ) )
		);
	}

	/**
	 * One bulk action is a button; a menu with one entry would only cost a click.
	 *
	 * @param string $which top or bottom.
	 */
	protected function bulk_actions( $which = '' ) {
		printf( '<button type="submit" class="button action" id="tocsin-resend-%s">%s</button>', esc_attr( $which ), esc_html__( 'Send selected again', 'tocsin' ) );
	}

	/**
	 * WordPress prints the bulk actions only where it knows some.
	 *
	 * @return array<string, string>
	 */
	protected function get_bulk_actions() {
		return array( Tocsin_Admin_Log::RESEND => __( 'Send again', 'tocsin' ) );
	}

	/**
	 * Nothing to see, and why.
	 */
	public function no_items() {
		if ( '' !== $this->wanted['state'] || '' !== $this->wanted['search'] ) {
			esc_html_e( 'No event matches.', 'tocsin' );
			return;
		}
		esc_html_e( 'No events yet. Events of enabled templates appear here; monitoring checks do not.', 'tocsin' );
	}

	/**
	 * The checkbox of a row.
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
	 * Title, and the rest of the message folded away.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_title( $item ) {
		$facts = array( __( 'Text', 'tocsin' ) => (string) $item['body'] );
		if ( ! empty( $item['severity'] ) ) {
			$facts[ __( 'Severity', 'tocsin' ) ] = (string) $item['severity'];
		}
		if ( ! empty( $item['notification_id'] ) ) {
			$facts[ __( 'Notification', 'tocsin' ) ] = (string) $item['notification_id'];
		}
		$html = '';
		foreach ( array_filter( $facts, 'strlen' ) + self::flatten( (array) $item['payload'] ) as $name => $value ) {
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
	 * The template by its title, or by its id where it is not registered any more.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_template( $item ) {
		$template = $this->companion->templates()->find( (string) $item['template_id'] );
		return esc_html( null === $template ? (string) $item['template_id'] : $template->title() );
	}

	/**
	 * State in words.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_state( $item ) {
		$state = (string) $item['state'];
		$words = Tocsin_Admin_Log::states()[ $state ] ?? $state;
		if ( 'waiting' === $state ) {
			$next  = (int) ceil( (float) $item['next_at'] / 1000 );
			$words = $next > time()
				/* translators: %s: when, such as "in 2 minutes". */
				? sprintf( __( 'Waiting: next attempt %s', 'tocsin' ), Tocsin_Admin_Labels::relative_time( $next ) )
				: __( 'Waiting: next attempt now', 'tocsin' );
		}
		$html = sprintf( '<span class="tocsin-state is-%s">%s</span>', esc_attr( sanitize_html_class( $state ) ), esc_html( $words ) );
		if ( 'sent' !== $state && '' !== (string) $item['last_error'] ) {
			$html .= '<span class="tocsin-reason">' . esc_html( (string) $item['last_error'] ) . '</span>';
		}
		return $html;
	}

	/**
	 * How often it was tried.
	 *
	 * @param array<string, mixed> $item Event.
	 * @return string
	 */
	protected function column_attempts( $item ) {
		return esc_html( number_format_i18n( (int) $item['attempts'] ) );
	}

	/**
	 * The last HTTP status.
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
	 * When it happened.
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
	 * The actions stand above the details, in the column itself.
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
	 * "Send again" below the title.
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
	 * Nested values as one list of name and text.
	 *
	 * @param array<int|string, mixed> $values Values.
	 * @param string                   $prefix Name of what they are in.
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
