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
	 * Whether the action is being fired: templates that come now are announced together.
	 *
	 * @var bool
	 */
	private bool $collecting = false;

	/**
	 * Callbacks of the action that are guarded, by priority and name.
	 *
	 * @var array
	 */
	private array $guarded = array();

	/**
	 * Templates are collected as soon as translations can be loaded, so that what happens in `init` is heard. Once more later, for plugins that
	 * attach to the action in `init` themselves.
	 */
	public function boot(): void {
		add_action( 'init', array( $this, 'collect' ), PHP_INT_MIN );
		add_action( 'init', array( $this, 'collect' ), 20 );
	}

	/**
	 * Lets plugins register their templates, each callback once per request.
	 */
	public function collect(): void {
		if ( ! $this->wrap_callbacks() ) {
			return;
		}
		$known            = count( $this->templates );
		$this->collecting = true;
		/**
		 * Register templates here, with tocsin_register_template().
		 */
		do_action( 'tocsin_register_templates' );
		$this->collecting = false;
		if ( count( $this->templates ) > $known ) {
			/**
			 * Says that templates came, also late ones. For the companion's own parts.
			 */
			do_action( 'tocsin_templates_changed' );
		}
	}

	/**
	 * Lets every callback of the action run once, also behind one that throws. They keep their names, so whoever removes one still finds it.
	 *
	 * @return bool Whether there are some that have not run yet.
	 */
	private function wrap_callbacks(): bool {
		global $wp_filter;
		$has_new = false;
		foreach ( $wp_filter['tocsin_register_templates']->callbacks ?? array() as $priority => $callbacks ) {
			foreach ( $callbacks as $name => $callback ) {
				if ( isset( $this->guarded[ $priority ][ $name ] ) ) {
					continue;
				}
				$this->guarded[ $priority ][ $name ] = true;

				$has_new = true;
				$wp_filter['tocsin_register_templates']->callbacks[ $priority ][ $name ]['function'] = self::run_once( $callback['function'] );
			}
		}
		return $has_new;
	}

	/**
	 * A callback that does nothing the second time and never throws.
	 *
	 * @param callable $callback What a plugin attached.
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
