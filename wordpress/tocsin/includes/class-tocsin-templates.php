<?php
/**
 * Template registry.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Holds all registered templates and determines which of them are visible on this site.
 */
final class Tocsin_Templates {
	/**
	 * Templates by id, in the order of registration.
	 *
	 * @var Tocsin_Template[]
	 */
	private array $templates = array();

	/**
	 * Whether the action is being fired. Templates registered meanwhile are announced together.
	 *
	 * @var bool
	 */
	private bool $collecting = false;

	/**
	 * Callbacks of the action that have been wrapped, by priority and name.
	 *
	 * @var array
	 */
	private array $wrapped = array();

	/**
	 * Collects templates at the start of `init`, when translations can be loaded and before other hooks of `init` fire. Again later, for
	 * plugins that attach to the action during `init`.
	 */
	public function boot(): void {
		add_action( 'init', array( $this, 'collect' ), PHP_INT_MIN );
		add_action( 'init', array( $this, 'collect' ), 20 );
	}

	/**
	 * Fires the registration action. Each callback runs once per request.
	 */
	public function collect(): void {
		if ( ! $this->wrap_callbacks() ) {
			return;
		}
		$known            = count( $this->templates );
		$this->collecting = true;
		/**
		 * Fires when plugins can register templates with tocsin_register_template().
		 */
		do_action( 'tocsin_register_templates' );
		$this->collecting = false;
		if ( count( $this->templates ) > $known ) {
			/**
			 * Fires when templates were registered or their settings have changed. Internal.
			 */
			do_action( 'tocsin_templates_changed' );
		}
	}

	/**
	 * Wraps new callbacks of the action, so that each runs once and an exception does not prevent the others. They keep their ids, so that
	 * remove_action() still works.
	 *
	 * @return bool Whether there are callbacks that have not run yet.
	 */
	private function wrap_callbacks(): bool {
		global $wp_filter;
		$has_new = false;
		foreach ( $wp_filter['tocsin_register_templates']->callbacks ?? array() as $priority => $callbacks ) {
			foreach ( $callbacks as $name => $callback ) {
				if ( isset( $this->wrapped[ $priority ][ $name ] ) ) {
					continue;
				}
				$this->wrapped[ $priority ][ $name ] = true;

				$has_new = true;
				$wp_filter['tocsin_register_templates']->callbacks[ $priority ][ $name ]['function'] = self::run_once( $callback['function'] );
			}
		}
		return $has_new;
	}

	/**
	 * Returns a callback that runs only once and never throws.
	 *
	 * @param callable $callback The callback of a plugin.
	 */
	private static function run_once( $callback ): callable {
		$has_run = false;
		return static function ( ...$args ) use ( $callback, &$has_run ) {
			if ( $has_run ) {
				return;
			}
			$has_run = true;
			try {
				call_user_func_array( $callback, $args );
			} catch ( Throwable $problem ) {
				_doing_it_wrong( 'tocsin_register_templates', esc_html( 'A callback failed: ' . $problem->getMessage() ), '0.1.0' );
			}
		};
	}

	/**
	 * Registers a template. An invalid one is rejected with a notice for the developer.
	 *
	 * @param mixed  $given  Template fields.
	 * @param string $caller Function to name in the notice.
	 */
	public function register( $given, string $caller = __METHOD__ ): bool {
		try {
			$template = Tocsin_Template::from_array( $given );
			$known    = $this->templates[ $template->id() ] ?? null;
			if ( null !== $known && ! $known->equals( $template ) ) {
				throw new InvalidArgumentException( 'id "' . $template->id() . '" is already used by the template "' . $known->title() . '"; set a unique id.' );
			}
		} catch ( InvalidArgumentException $problem ) {
			$which = is_array( $given ) && is_string( $given['title'] ?? null ) && '' !== $given['title'] ? ' "' . $given['title'] . '"' : '';
			_doing_it_wrong( esc_html( $caller ), esc_html( 'Template' . $which . ' rejected: ' . $problem->getMessage() ), '0.1.0' );
			return false;
		}
		foreach ( Tocsin_Template_Validator::unknown_fields( $given ) as $field ) {
			_doing_it_wrong( esc_html( $caller ), esc_html( 'Template "' . $template->title() . '": ' . $field . ' is not a known field and is ignored.' ), '0.1.0' );
		}
		if ( null === $known ) {
			$this->templates[ $template->id() ] = $template;
			if ( ! $this->collecting ) {
				do_action( 'tocsin_templates_changed' );
			}
		}
		return true;
	}

	/**
	 * Returns all templates, including those of inactive plugins.
	 *
	 * @return Tocsin_Template[] By id.
	 */
	public function all(): array {
		return $this->templates;
	}

	/**
	 * Returns the templates whose required plugin is active.
	 *
	 * @return Tocsin_Template[] By id.
	 */
	public function visible(): array {
		$active = array_flip( $this->active_plugins() );
		return array_filter(
			$this->templates,
			static fn( Tocsin_Template $template ) => '' === $template->required_plugin() || isset( $active[ $template->required_plugin() ] )
		);
	}

	/**
	 * Returns a template, or null.
	 *
	 * @param string $id Template id.
	 */
	public function find( string $id ): ?Tocsin_Template {
		return $this->templates[ $id ] ?? null;
	}

	/**
	 * Returns the slugs of active plugins: the folder name, or the file name without .php.
	 *
	 * @return string[]
	 */
	public function active_plugins(): array {
		$files = array_merge(
			(array) get_option( 'active_plugins', array() ),
			is_multisite() ? array_keys( (array) get_site_option( 'active_sitewide_plugins', array() ) ) : array()
		);
		$slugs = array();
		foreach ( array_filter( $files, 'is_string' ) as $file ) {
			$slugs[] = false === strpos( $file, '/' ) ? basename( $file, '.php' ) : strtok( $file, '/' );
		}
		/**
		 * Filters the slugs of active plugins. Adding a slug shows the templates that require it.
		 *
		 * @param string[] $slugs Slugs of plugins.
		 */
		$filtered = apply_filters( 'tocsin_active_plugin_identifiers', array_values( array_unique( $slugs ) ) );
		return is_array( $filtered ) ? array_values( array_filter( $filtered, 'is_string' ) ) : $slugs;
	}
}
