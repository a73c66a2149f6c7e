<?php
/**
 * Hears the hooks.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Attaches the templates that are on to their hooks and turns what happens into events for the queue.
 */
final class Tocsin_Listener {
	/**
	 * Greater than zero while the companion itself works: what it sets off is no news.
	 *
	 * @var int
	 */
	private static int $quiet = 0;

	/**
	 * The registry.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * What is on, and with which texts.
	 *
	 * @var Tocsin_Settings
	 */
	private Tocsin_Settings $settings;

	/**
	 * Where events go.
	 *
	 * @var Tocsin_Queue
	 */
	private Tocsin_Queue $queue;

	/**
	 * Ids of the templates that are attached, as keys.
	 *
	 * @var array
	 */
	private array $attached = array();

	/**
	 * Takes its neighbours.
	 *
	 * @param Tocsin_Templates $templates The registry.
	 * @param Tocsin_Settings  $settings  What is on.
	 * @param Tocsin_Queue     $queue     Where events go.
	 */
	public function __construct( Tocsin_Templates $templates, Tocsin_Settings $settings, Tocsin_Queue $queue ) {
		$this->templates = $templates;
		$this->settings  = $settings;
		$this->queue     = $queue;
	}

	/**
	 * Attaches now what is there, and later what comes or is switched on.
	 */
	public function boot(): void {
		add_action( 'tocsin_templates_changed', array( $this, 'attach' ) );
		// Once more when all plugins are up: by then one may say that it counts as active.
		add_action( 'init', array( $this, 'attach' ), PHP_INT_MAX );
		$this->attach();
	}

	/**
	 * Attaches every visible template that is on and not yet attached.
	 */
	public function attach(): void {
		foreach ( $this->templates->visible() as $id => $template ) {
			if ( isset( $this->attached[ $id ] ) || ! $this->settings->is_enabled( (string) $id ) ) {
				continue;
			}
			$this->attached[ $id ] = true;
			// Last, so that a filter's template sees the value as everybody else left it. An action is a filter whose value nobody reads.
			add_filter( $template->hook_name(), fn( ...$args ) => $this->on_hook( $template, $args ), PHP_INT_MAX, $template->accepted_args() );
		}
	}

	/**
	 * A hook was fired.
	 *
	 * @param Tocsin_Template $template The template that listens.
	 * @param array           $args     What the hook handed over.
	 * @return mixed The first argument, untouched: for a filter that is its value.
	 */
	private function on_hook( Tocsin_Template $template, array $args ) {
		if ( 0 === self::$quiet ) {
			self::without_events( fn() => $this->queue_event( $template, $args ) );
		}
		return $args[0] ?? null;
	}

	/**
	 * Runs something whose own hooks are no news: describing a post fires hooks, and sending does too.
	 *
	 * @param callable $work What to run.
	 * @return mixed What it returns.
	 */
	public static function without_events( callable $work ) {
		++self::$quiet;
		try {
			return $work();
		} finally {
			--self::$quiet;
		}
	}

	/**
	 * Makes an event of it. Whatever goes wrong here must not reach the page.
	 *
	 * @param Tocsin_Template $template The template.
	 * @param array           $args     What the hook handed over.
	 */
	private function queue_event( Tocsin_Template $template, array $args ): void {
		try {
			if ( ! $this->settings->is_enabled( $template->id() ) ) {
				return;
			}
			$named = $template->named_args( $args );
			if ( $template->should_send( $named ) ) {
				$this->queue->add( $this->event( $template, $named ) );
			}
		} catch ( Throwable $problem ) {
			if ( defined( 'WP_DEBUG' ) && WP_DEBUG ) {
				// phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_error_log -- For the template's author, on a site that debugs.
				error_log( sprintf( 'Tocsin: template "%s" failed: %s in %s:%d', $template->id(), get_class( $problem ), $problem->getFile(), $problem->getLine() ) );
			}
		}
	}

	/**
	 * The event, in words.
	 *
	 * @param Tocsin_Template $template The template.
	 * @param array           $named    The hook's arguments by name.
	 */
	private function event( Tocsin_Template $template, array $named ): array {
		$payload = ( new Tocsin_Arguments() )->describe( $named );
		$texts   = $this->settings->texts( $template->id() );
		$title   = Tocsin_Text::title( $texts['title'], $payload );
		return array(
			'template_id' => $template->id(),
			'title'       => '' === $title ? Tocsin_Text::truncate( $template->title(), Tocsin_Text::MAX_TITLE ) : $title,
			'body'        => Tocsin_Text::body( $texts['body'], $payload ),
			'severity'    => $texts['severity'],
			'category'    => $texts['category'],
			'payload'     => $payload + array_filter(
				array(
					'template' => $template->id(),
					'scenario' => $template->scenario_name(),
					'hook'     => $template->hook_name(),
					'site'     => home_url(),
				)
			),
			'occurred_at' => (int) floor( microtime( true ) * 1000 ),
		);
	}
}
