<?php
/**
 * Composition root of the plugin.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Creates the plugin's services in dependency order and gives access to them.
 */
final class Tocsin_Companion {
	/**
	 * The instance of this request.
	 *
	 * @var self|null
	 */
	private static ?self $instance = null;

	/**
	 * Template registry.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * Connection to the gateway.
	 *
	 * @var Tocsin_Connection
	 */
	private Tocsin_Connection $connection;

	/**
	 * Settings of the templates.
	 *
	 * @var Tocsin_Template_Settings
	 */
	private Tocsin_Template_Settings $template_settings;

	/**
	 * HTTP client for the gateway.
	 *
	 * @var Tocsin_Client
	 */
	private Tocsin_Client $client;

	/**
	 * Queue and log of events.
	 *
	 * @var Tocsin_Queue
	 */
	private Tocsin_Queue $queue;

	/**
	 * Sends due events.
	 *
	 * @var Tocsin_Runner
	 */
	private Tocsin_Runner $runner;

	/**
	 * Listens to the hooks of enabled templates.
	 *
	 * @var Tocsin_Listener
	 */
	private Tocsin_Listener $listener;

	/**
	 * Result of the last monitoring check.
	 *
	 * @var Tocsin_Result|null
	 */
	private ?Tocsin_Result $last_result = null;

	/**
	 * Returns the instance of this request.
	 */
	public static function get_instance(): self {
		if ( null === self::$instance ) {
			self::$instance = new self();
		}
		return self::$instance;
	}

	/**
	 * Creates the services. boot() registers their hooks.
	 */
	private function __construct() {
		$this->templates         = new Tocsin_Templates();
		$this->connection        = new Tocsin_Connection();
		$this->template_settings = new Tocsin_Template_Settings( $this->templates );
		$this->client            = new Tocsin_Client( $this->connection );
		$this->queue             = new Tocsin_Queue();
		$this->runner            = new Tocsin_Runner( $this->queue, $this->client );
		$this->listener          = new Tocsin_Listener( $this->templates, $this->template_settings, $this->queue );
	}

	/**
	 * Registers the hooks of all services. Called once, on `plugins_loaded`.
	 */
	public function boot(): void {
		Tocsin_Install::register();
		( new Tocsin_Built_In_Templates() )->register();
		( new Tocsin_Fatal_Errors( $this->templates ) )->register();
		$this->templates->boot();
		$this->listener->boot();
		$this->runner->register();
		if ( is_admin() ) {
			( new Tocsin_Admin( $this ) )->register();
		}
		if ( defined( 'WP_CLI' ) && WP_CLI ) {
			WP_CLI::add_command( 'tocsin', new Tocsin_CLI( $this ) );
		}
	}

	/**
	 * Sends a notification immediately, bypassing the queue, to test the connection.
	 *
	 * @return bool True if the gateway accepted it; otherwise last_error() returns the reason.
	 */
	public function send_monitoring_check(): bool {
		$event = array(
			'title'    => Tocsin_Text::title(
				/* translators: {site_name} is a placeholder and must stay as it is. */
				__( 'Monitoring check from {site_name}', 'tocsin' ),
				array()
			),
			'body'     => __( 'This site can reach the Tocsin gateway.', 'tocsin' ),
			'severity' => 'info',
			'category' => 'info',
			'payload'  => array(
				'template'  => 'monitoring_check',
				'site'      => home_url(),
				'wordpress' => get_bloginfo( 'version' ),
				'php'       => PHP_VERSION,
				'companion' => TOCSIN_VERSION,
				'queue'     => $this->queue->counts(),
			),
		);

		$this->last_result = $this->client->send( Tocsin_Client::notification( $event ), Tocsin_Event_Buffer::uuid() );
		if ( $this->last_result->is_accepted() && null !== Tocsin_Downtime::current() ) {
			$this->runner->resume();
		}
		return $this->last_result->is_accepted();
	}

	/**
	 * Returns the error of the last monitoring check as a message for the user; empty if it succeeded.
	 */
	public function last_error(): string {
		return null === $this->last_result || $this->last_result->is_accepted() ? '' : $this->last_result->message();
	}

	/**
	 * Returns the result of the last monitoring check of this request.
	 */
	public function last_result(): ?Tocsin_Result {
		return $this->last_result;
	}

	/**
	 * Returns the template registry.
	 */
	public function templates(): Tocsin_Templates {
		return $this->templates;
	}

	/**
	 * Returns the gateway address and the API key.
	 */
	public function connection(): Tocsin_Connection {
		return $this->connection;
	}

	/**
	 * Returns the settings of the templates.
	 */
	public function template_settings(): Tocsin_Template_Settings {
		return $this->template_settings;
	}

	/**
	 * Returns the HTTP client for the gateway.
	 */
	public function client(): Tocsin_Client {
		return $this->client;
	}

	/**
	 * Returns the queue and log of events.
	 */
	public function queue(): Tocsin_Queue {
		return $this->queue;
	}

	/**
	 * Returns the queue runner.
	 */
	public function runner(): Tocsin_Runner {
		return $this->runner;
	}
}
