<?php
/**
 * Hook listener.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Attaches enabled templates to their hooks and queues an event when a hook fires.
 */
final class Tocsin_Listener {
	/**
	 * Nesting depth of without_events(). While it is greater than zero, hooks create no events.
	 *
	 * @var int
	 */
	private static int $suppressed = 0;

	/**
	 * Template registry.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * Enabled templates and their texts.
	 *
	 * @var Tocsin_Template_Settings
	 */
	private Tocsin_Template_Settings $settings;

	/**
	 * Queue of events.
	 *
	 * @var Tocsin_Queue
	 */
	private Tocsin_Queue $queue;

	/**
	 * Ids of attached templates, as array keys.
	 *
	 * @var array
	 */
	private array $attached = array();

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Templates         $templates Template registry.
	 * @param Tocsin_Template_Settings $settings  Enabled templates and their texts.
	 * @param Tocsin_Queue             $queue     Queue of events.
	 */
	public function __construct( Tocsin_Templates $templates, Tocsin_Template_Settings $settings, Tocsin_Queue $queue ) {
		$this->templates = $templates;
		$this->settings  = $settings;
		$this->queue     = $queue;
	}

	/**
	 * Attaches templates now, and again whenever templates are registered or enabled.
	 */
	public function boot(): void {
		add_action( 'tocsin_templates_changed', array( $this, 'attach' ) );
		// Again after all plugins are initialized, because a plugin may have filtered the list of active plugins.
		add_action( 'init', array( $this, 'attach' ), PHP_INT_MAX );
		$this->attach();
	}

	/**
	 * Attaches visible, enabled templates that are not attached yet.
	 */
	public function attach(): void {
		foreach ( $this->templates->visible() as $id => $template ) {
			if ( isset( $this->attached[ $id ] ) || ! $this->settings->is_enabled( (string) $id ) ) {
				continue;
			}
			$this->attached[ $id ] = true;
			// Runs last, so that the template of a filter receives the final value. In WordPress an action is a filter without a return value.
			add_filter( $template->hook_name(), fn( ...$args ) => $this->on_hook( $template, $args ), PHP_INT_MAX, $template->accepted_args() );
		}
	}

	/**
	 * Handles a hook.
	 *
	 * @param Tocsin_Template $template The attached template.
	 * @param array           $args     Arguments of the hook.
	 * @return mixed The first argument unchanged, which is the value of a filter.
	 */
	private function on_hook( Tocsin_Template $template, array $args ) {
		if ( 0 === self::$suppressed ) {
			self::without_events( fn() => $this->queue_event( $template, $args ) );
		}
		return $args[0] ?? null;
	}

	/**
	 * Runs a callback during which hooks create no events, because the plugin's own work fires hooks too.
	 *
	 * @param callable $work The callback.
	 * @return mixed Its return value.
	 */
	public static function without_events( callable $work ) {
		++self::$suppressed;
		try {
			return $work();
		} finally {
			--self::$suppressed;
		}
	}

	/**
	 * Queues an event for a hook. Exceptions must not reach the page.
	 *
	 * @param Tocsin_Template $template The template.
	 * @param array           $args     Arguments of the hook.
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
				// phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_error_log -- For the author of the template, only with WP_DEBUG.
				error_log( sprintf( 'Tocsin: template "%s" failed: %s in %s:%d', $template->id(), get_class( $problem ), $problem->getFile(), $problem->getLine() ) );
			}
		}
	}

	/**
	 * Builds the event.
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
