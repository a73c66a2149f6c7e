<?php
/**
 * The companion as a whole.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Makes the parts, in the order in which they need each other. The only place that does.
 */
final class Tocsin_Companion {
	/**
	 * The one instance of a request.
	 *
	 * @var self|null
	 */
	private static ?self $instance = null;

	/**
	 * The registry of templates.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * What the owner of the site chose.
	 *
	 * @var Tocsin_Settings
	 */
	private Tocsin_Settings $settings;

	/**
	 * The way to the gateway.
	 *
	 * @var Tocsin_Client
	 */
	private Tocsin_Client $client;

	/**
	 * What waits to be sent, and what became of it.
	 *
	 * @var Tocsin_Queue
	 */
	private Tocsin_Queue $queue;

	/**
	 * Sends what is due.
	 *
	 * @var Tocsin_Runner
	 */
	private Tocsin_Runner $runner;

	/**
	 * Hears the hooks.
	 *
	 * @var Tocsin_Listener
	 */
	private Tocsin_Listener $listener;

	/**
	 * What became of the last monitoring check.
	 *
	 * @var Tocsin_Result|null
	 */
	private ?Tocsin_Result $last_result = null;

	/**
	 * The companion of this request.
	 */
	public static function get_instance(): self {
		if ( null === self::$instance ) {
			self::$instance = new self();
		}
		return self::$instance;
	}

	/**
	 * Nothing is read or attached yet: that is what boot() does.
	 */
	private function __construct() {
		$this->templates = new Tocsin_Templates();
		$this->settings  = new Tocsin_Settings( $this->templates );
		$this->client    = new Tocsin_Client( $this->settings );
		$this->queue     = new Tocsin_Queue();
		$this->runner    = new Tocsin_Runner( $this->queue, $this->client );
		$this->listener  = new Tocsin_Listener( $this->templates, $this->settings, $this->queue );
	}

	/**
	 * Attaches the parts to WordPress. Called once, on `plugins_loaded`.
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
	 * Asks the gateway, at once and not through the queue, to tell the owner that this site can reach it.
	 *
	 * @return bool True only when the gateway took it; otherwise last_error() says why.
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
	 * Why the last monitoring check failed, in words for the owner; empty when it did not.
	 */
	public function last_error(): string {
		return null === $this->last_result || $this->last_result->is_accepted() ? '' : $this->last_result->message();
	}

	/**
	 * What became of the last monitoring check of this request.
	 */
	public function last_result(): ?Tocsin_Result {
		return $this->last_result;
	}

	/**
	 * The registry of templates.
	 */
	public function templates(): Tocsin_Templates {
		return $this->templates;
	}

	/**
	 * What the owner of the site chose.
	 */
	public function settings(): Tocsin_Settings {
		return $this->settings;
	}

	/**
	 * The way to the gateway.
	 */
	public function client(): Tocsin_Client {
		return $this->client;
	}

	/**
	 * What waits to be sent, and what became of it.
	 */
	public function queue(): Tocsin_Queue {
		return $this->queue;
	}

	/**
	 * Sends what is due.
	 */
	public function runner(): Tocsin_Runner {
		return $this->runner;
	}
}
