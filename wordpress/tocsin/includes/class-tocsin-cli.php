<?php
/**
 * The command `wp tocsin`.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Checks the connection, sends notifications, and manages the queue and the templates.
 */
class Tocsin_CLI {

	/**
	 * The companion.
	 *
	 * @var Tocsin_Companion
	 */
	private $companion;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Companion $companion The companion.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->companion = $companion;
	}

	/**
	 * Sends a monitoring check to the gateway and prints the result.
	 *
	 * ## EXAMPLES
	 *
	 *     wp tocsin check
	 */
	public function check(): void {
		if ( ! $this->companion->send_monitoring_check() ) {
			WP_CLI::error( $this->companion->last_error() );
		}
		WP_CLI::success( 'The gateway accepted the monitoring check.' );
	}

	/**
	 * Shows the connection, the queue and the next scheduled run.
	 *
	 * ## OPTIONS
	 *
	 * [--format=<format>]
	 * : Output format.
	 * ---
	 * default: table
	 * options:
	 *   - table
	 *   - json
	 * ---
	 *
	 * @param array $args  None.
	 * @param array $assoc Options.
	 */
	public function status( $args, $assoc ): void {
		$connection = $this->companion->connection();
		$counts     = $this->companion->queue()->counts();
		$downtime   = Tocsin_Downtime::current();
		$next       = Tocsin_Schedule::next();
		$status     = array(
			'url'          => $connection->url(),
			'key'          => self::describe_key( $connection ),
			'waiting'      => $counts['waiting'],
			'sent'         => $counts['sent'],
			'dead'         => $counts['dead'],
			'refused'      => $counts['refused'],
			'next_event'   => self::format_time( $counts['next_at'] ),
			'next_run'     => self::format_time( null === $next ? null : $next * 1000 ),
			'outage_since' => self::format_time( null === $downtime ? null : $downtime['since'] ),
			'wp_cron'      => defined( 'DISABLE_WP_CRON' ) && DISABLE_WP_CRON ? 'disabled: run "wp cron event run --due-now" from the system cron' : 'on',
		);
		if ( 'json' === $assoc['format'] ) {
			WP_CLI::line( (string) wp_json_encode( $status ) );
			return;
		}
		$rows = array();
		foreach ( $status as $name => $value ) {
			$rows[] = array(
				'name'  => $name,
				'value' => (string) $value,
			);
		}
		WP_CLI\Utils\format_items( 'table', $rows, array( 'name', 'value' ) );
	}

	/**
	 * Sends a notification immediately and waits for the response.
	 *
	 * ## OPTIONS
	 *
	 * --title=<title>
	 * : Title of the notification.
	 *
	 * [--body=<body>]
	 * : Text of the notification.
	 *
	 * [--severity=<severity>]
	 * : Severity of the notification.
	 * ---
	 * options:
	 *   - info
	 *   - warning
	 *   - error
	 *   - critical
	 * ---
	 *
	 * ## EXAMPLES
	 *
	 *     wp tocsin send --title="Backup failed" --severity=error
	 *
	 * @param array $args  None.
	 * @param array $assoc Options.
	 */
	public function send( $args, $assoc ): void {
		$event  = array(
			'title'    => (string) $assoc['title'],
			'body'     => (string) ( $assoc['body'] ?? '' ),
			'severity' => (string) ( $assoc['severity'] ?? '' ),
			'category' => 'info',
			'payload'  => array( 'site' => home_url() ),
		);
		$result = $this->companion->client()->send( Tocsin_Client::notification( $event ), Tocsin_Event_Buffer::uuid() );
		if ( ! $result->is_accepted() ) {
			WP_CLI::error( $result->message() );
		}
		WP_CLI::success( 'The gateway accepted the notification.' );
	}

	/**
	 * Manages the queue.
	 *
	 * ## OPTIONS
	 *
	 * <action>
	 * : list shows events, newest first; run sends due events; resend sends one event again; prune deletes old events.
	 * ---
	 * options:
	 *   - list
	 *   - run
	 *   - resend
	 *   - prune
	 * ---
	 *
	 * [<id>]
	 * : Event id, for resend.
	 *
	 * [--state=<state>]
	 * : Only events in this state, for list.
	 * ---
	 * options:
	 *   - waiting
	 *   - sent
	 *   - dead
	 * ---
	 *
	 * [--limit=<limit>]
	 * : Maximum number of events, for list.
	 * ---
	 * default: 20
	 * ---
	 *
	 * [--format=<format>]
	 * : Output format, for list.
	 * ---
	 * default: table
	 * options:
	 *   - table
	 *   - json
	 * ---
	 *
	 * ## EXAMPLES
	 *
	 *     wp tocsin queue list --state=dead
	 *     wp tocsin queue resend 17
	 *
	 * @param array $args  Action and event id.
	 * @param array $assoc Options.
	 */
	public function queue( $args, $assoc ): void {
		$queue = $this->companion->queue();
		switch ( $args[0] ) {
			case 'list':
				$this->list_events( $assoc );
				return;
			case 'run':
				$this->run_queue();
				return;
			case 'prune':
				WP_CLI::success( sprintf( '%d old events deleted.', $queue->prune() ) );
				return;
		}
		$id = (int) ( $args[1] ?? 0 );
		if ( ! $queue->resend( $id ) ) {
			WP_CLI::error( sprintf( 'Event %d not found. List events with "wp tocsin queue list".', $id ) );
		}
		WP_CLI::success( sprintf( 'Event %d is due now. The site sends it on its next run, or run "wp tocsin queue run".', $id ) );
	}

	/**
	 * Lists, enables and disables templates.
	 *
	 * ## OPTIONS
	 *
	 * <action>
	 * : list shows the templates; on enables one; off disables one.
	 * ---
	 * options:
	 *   - list
	 *   - on
	 *   - off
	 * ---
	 *
	 * [<id>]
	 * : Template id, for on and off.
	 *
	 * [--format=<format>]
	 * : Output format, for list.
	 * ---
	 * default: table
	 * options:
	 *   - table
	 *   - json
	 * ---
	 *
	 * @param array $args  Action and template id.
	 * @param array $assoc Options.
	 */
	public function templates( $args, $assoc ): void {
		$settings = $this->companion->template_settings();
		if ( 'list' === $args[0] ) {
			$rows = array();
			foreach ( $this->companion->templates()->visible() as $template ) {
				$rows[] = array(
					'id'       => $template->id(),
					'on'       => $settings->is_enabled( $template->id() ) ? 'on' : 'off',
					'scenario' => $template->scenario_name(),
					'title'    => $template->title(),
					'hook'     => $template->hook_name(),
				);
			}
			WP_CLI\Utils\format_items( $assoc['format'], $rows, array( 'id', 'on', 'scenario', 'title', 'hook' ) );
			return;
		}
		$id = (string) ( $args[1] ?? '' );
		if ( ! $settings->save( $id, 'on' === $args[0], $settings->texts( $id ) ) ) {
			WP_CLI::error( sprintf( 'Template "%s" not found. List templates with "wp tocsin templates list".', $id ) );
		}
		WP_CLI::success( sprintf( 'Template %s is %s.', $id, $args[0] ) );
	}

	/**
	 * Describes the state of the API key without revealing it.
	 *
	 * @param Tocsin_Connection $connection The connection.
	 */
	private static function describe_key( Tocsin_Connection $connection ): string {
		if ( $connection->is_key_undecryptable() ) {
			return 'cannot be decrypted: the secret keys in wp-config.php have changed, enter the key again';
		}
		if ( ! $connection->has_key() ) {
			return 'not set';
		}
		return '' === $connection->problem() ? 'set' : 'not used: ' . $connection->problem();
	}

	/**
	 * Sends due events.
	 */
	private function run_queue(): void {
		$done = $this->companion->runner()->run();
		if ( 'busy' === $done['reason'] ) {
			WP_CLI::error( 'Another process is sending events. Try again in a minute.' );
		}
		$summary = sprintf( '%d sent, %d not accepted, %d expired.', $done['sent'], $done['failed'], $done['expired'] );
		if ( 'gateway' === $done['reason'] ) {
			WP_CLI::error( $summary . ' The gateway is not accepting events. See the errors with "wp tocsin queue list --state=waiting --format=json".' );
		}
		WP_CLI::success( $summary );
	}

	/**
	 * Lists events.
	 *
	 * @param array $assoc Options.
	 */
	private function list_events( array $assoc ): void {
		$rows = array();
		foreach ( $this->companion->queue()->list(
			array(
				'state'    => $assoc['state'] ?? '',
				'per_page' => (int) $assoc['limit'],
			)
		) as $event ) {
			$rows[] = array(
				'id'              => $event['id'],
				'created'         => self::format_time( $event['created_at'] ),
				'template'        => $event['template_id'],
				'title'           => $event['title'],
				'state'           => $event['state'],
				'attempts'        => $event['attempts'],
				'status'          => $event['status'],
				'next'            => 'waiting' === $event['state'] ? self::format_time( $event['next_at'] ) : '',
				'notification_id' => $event['notification_id'],
				'last_error'      => $event['last_error'],
			);
		}
		$columns = array( 'id', 'created', 'template', 'title', 'state', 'attempts', 'next' );
		WP_CLI\Utils\format_items( $assoc['format'], $rows, 'json' === $assoc['format'] ? array_merge( $columns, array( 'status', 'notification_id', 'last_error' ) ) : $columns );
	}

	/**
	 * Formats a time in UTC as ISO 8601.
	 *
	 * @param int|null $at Milliseconds since the Unix epoch.
	 */
	private static function format_time( $at ): string {
		return null === $at ? '' : gmdate( 'Y-m-d\TH:i:s\Z', intdiv( $at, 1000 ) );
	}
}
