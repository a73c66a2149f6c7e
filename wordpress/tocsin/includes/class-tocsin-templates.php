<?php
/**
 * The registry of templates.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Knows every template, and which of them make sense on this site.
 */
final class Tocsin_Templates {
	/**
	 * Templates by id, in the order in which they came.
	 *
	 * @var Tocsin_Template[]
	 */
	private array $templates = array();

	/**
	 * Whether the action was fired.
	 *
	 * @var bool
	 */
	private bool $collected = false;

	/**
	 * Whether it is being fired: those that come now are announced together.
	 *
	 * @var bool
	 */
	private bool $collecting = false;

	/**
	 * Templates are collected when plugins and theme are there and translations can be loaded.
	 */
	public function boot(): void {
		add_action( 'init', array( $this, 'collect' ), 20 );
	}

	/**
	 * Lets plugins register their templates. Once per request.
	 */
	public function collect(): void {
		if ( $this->collected ) {
			return;
		}
		$this->collected  = true;
		$this->collecting = true;
		self::guard( 'tocsin_register_templates' );
		/**
		 * Register templates here, with tocsin_register_template().
		 */
		do_action( 'tocsin_register_templates' );
		$this->collecting = false;
		/**
		 * Says that templates came, also late ones. For the companion's own parts.
		 */
		do_action( 'tocsin_templates_changed' );
	}

	/**
	 * Lets every callback of a hook run, also behind one that throws. They keep their names, so whoever removes one still finds it.
	 *
	 * @param string $hook_name The hook.
	 */
	private static function guard( string $hook_name ): void {
		global $wp_filter;
		if ( ! isset( $wp_filter[ $hook_name ] ) ) {
			return;
		}
		foreach ( $wp_filter[ $hook_name ]->callbacks as $priority => $callbacks ) {
			foreach ( $callbacks as $name => $callback ) {
				$wp_filter[ $hook_name ]->callbacks[ $priority ][ $name ]['function'] = static function ( ...$args ) use ( $hook_name, $callback ) {
					try {
						return call_user_func_array( $callback['function'], $args );
					} catch ( Throwable $problem ) {
						_doing_it_wrong( esc_html( $hook_name ), esc_html( 'A callback failed: ' . $problem->getMessage() ), '0.1.0' );
					}
				};
			}
		}
	}

	/**
	 * Takes a template in. A wrong one is refused with a notice for its author and does no harm.
	 *
	 * @param mixed  $given  The fields.
	 * @param string $caller The function that the author called.
	 */
	public function register( $given, string $caller = __METHOD__ ): bool {
		try {
			$template = Tocsin_Template::from_array( $given );
			$known    = $this->templates[ $template->id() ] ?? null;
			if ( null !== $known && ! $known->equals( $template ) ) {
				throw new InvalidArgumentException( 'id "' . $template->id() . '" is taken by the template "' . $known->title() . '"; give this one an id of its own.' );
			}
		} catch ( InvalidArgumentException $problem ) {
			$which = is_array( $given ) && is_string( $given['title'] ?? null ) && '' !== $given['title'] ? ' "' . $given['title'] . '"' : '';
			_doing_it_wrong( esc_html( $caller ), esc_html( 'Template' . $which . ' refused: ' . $problem->getMessage() ), '0.1.0' );
			return false;
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
	 * Every template, also of plugins that are not active.
	 *
	 * @return Tocsin_Template[] By id.
	 */
	public function all(): array {
		return $this->templates;
	}

	/**
	 * The templates that make sense on this site.
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
	 * One template.
	 *
	 * @param string $id Its id.
	 */
	public function find( string $id ): ?Tocsin_Template {
		return $this->templates[ $id ] ?? null;
	}

	/**
	 * The slugs of the plugins that are active here: the folder's name, or the file's without .php.
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
		 * The plugins that count as active. A slug that is added makes the templates visible that require it.
		 *
		 * @param string[] $slugs Slugs of plugins.
		 */
		$filtered = apply_filters( 'tocsin_active_plugin_identifiers', array_values( array_unique( $slugs ) ) );
		return is_array( $filtered ) ? array_values( array_filter( $filtered, 'is_string' ) ) : $slugs;
	}
}
