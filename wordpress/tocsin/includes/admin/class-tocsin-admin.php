<?php
/**
 * Admin menu.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Menu, access control, form handling, assets and help of the admin screens.
 */
final class Tocsin_Admin {

	const CONNECTION = 'tocsin';
	const TEMPLATES  = 'tocsin-templates';
	const LOG        = 'tocsin-log';

	/**
	 * Name of the nonce in forms and links. Not _wpnonce: a list table adds its own nonce with that name to the form.
	 */
	const NONCE = 'tocsin_nonce';

	/**
	 * Screens by slug.
	 *
	 * @var array<string, Tocsin_Admin_Screen>
	 */
	private array $screens;

	/**
	 * Creates the screens.
	 *
	 * @param Tocsin_Companion $companion The plugin's services.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->screens = array(
			self::CONNECTION => new Tocsin_Admin_Connection( $companion ),
			self::TEMPLATES  => new Tocsin_Admin_Templates( $companion ),
			self::LOG        => new Tocsin_Admin_Log( $companion ),
		);
	}

	/**
	 * Registers the hooks. Called in wp-admin only.
	 */
	public function register(): void {
		add_action( 'admin_menu', array( $this, 'add_menu' ) );
		add_action( 'admin_enqueue_scripts', array( $this, 'enqueue' ) );
		add_filter( 'plugin_action_links_' . plugin_basename( TOCSIN_FILE ), array( $this, 'add_plugin_link' ) );
		// Registered here, not in the screen: WordPress saves screen options before it loads the screen.
		add_filter( 'set_screen_option_' . Tocsin_Admin_Log::PER_PAGE, array( 'Tocsin_Admin_Log', 'accept_per_page' ), 10, 3 );
		foreach ( $this->screens as $slug => $screen ) {
			foreach ( $screen->actions() as $action => $callback ) {
				add_action(
					'admin_post_' . $action,
					static function () use ( $action, $callback, $slug ): void {
						self::authorize( $action );
						$callback();
						self::redirect_to( $slug );
					}
				);
			}
		}
	}

	/**
	 * Returns the capability required to use the screens.
	 */
	public static function capability(): string {
		/**
		 * Filters the capability required to use the screens of Tocsin.
		 *
		 * @param string $capability Default: manage_options.
		 */
		$capability = apply_filters( 'tocsin_capability', 'manage_options' );
		return is_string( $capability ) && '' !== $capability ? $capability : 'manage_options';
	}

	/**
	 * Adds the menu and its three screens.
	 */
	public function add_menu(): void {
		$capability = self::capability();
		add_menu_page( __( 'Tocsin', 'tocsin' ), __( 'Tocsin', 'tocsin' ), $capability, self::CONNECTION, '', self::icon(), 81 );
		foreach ( $this->screens as $slug => $screen ) {
			$hook = add_submenu_page(
				self::CONNECTION,
				/* translators: %s: name of a screen, such as "Log". */
				sprintf( __( '%s ‹ Tocsin', 'tocsin' ), $screen->name() ),
				$screen->name(),
				$capability,
				$slug,
				static function () use ( $screen ): void {
					self::render( $screen );
				}
			);
			if ( is_string( $hook ) ) {
				add_action( 'load-' . $hook, array( $screen, 'load' ) );
				add_action( 'load-' . $hook, array( $this, 'add_help' ) );
			}
		}
	}

	/**
	 * Prints a screen with its heading and the notices of the last form.
	 *
	 * @param Tocsin_Admin_Screen $screen The screen.
	 */
	private static function render( Tocsin_Admin_Screen $screen ): void {
		if ( ! current_user_can( self::capability() ) ) {
			self::deny_access();
		}
		echo '<div class="wrap tocsin" id="tocsin">';
		echo '<h1 class="wp-heading-inline">' . esc_html( $screen->name() ) . '</h1>';
		echo '<hr class="wp-header-end">';
		Tocsin_Admin_Notices::render();
		$screen->render();
		echo '</div>';
	}

	/**
	 * Returns the URL of a screen.
	 *
	 * @param string                $slug One of the constants above.
	 * @param array<string, string> $args Query arguments, not URL-encoded.
	 */
	public static function url( string $slug, array $args = array() ): string {
		return add_query_arg( array_map( 'rawurlencode', array( 'page' => $slug ) + $args ), admin_url( 'admin.php' ) );
	}

	/**
	 * Prints the opening tag and hidden fields of a form.
	 *
	 * @param string $action One of a screen's actions().
	 * @param string $class  CSS classes of the form.
	 */
	public static function open_form( string $action, string $class = '' ): void {
		printf( '<form method="post" action="%s" class="%s">', esc_url( admin_url( 'admin-post.php' ) ), esc_attr( $class ) );
		printf( '<input type="hidden" name="action" value="%s">', esc_attr( $action ) );
		wp_nonce_field( $action, self::NONCE );
	}

	/**
	 * Enqueues CSS and optional JavaScript.
	 *
	 * @param mixed $hook Hook suffix of the current screen.
	 */
	public function enqueue( $hook ): void {
		if ( ! is_string( $hook ) || false === strpos( $hook, 'tocsin' ) ) {
			return;
		}
		wp_enqueue_style( 'tocsin-admin', plugins_url( 'assets/admin.css', TOCSIN_FILE ), array(), TOCSIN_VERSION );
		wp_enqueue_script( 'tocsin-admin', plugins_url( 'assets/admin.js', TOCSIN_FILE ), array(), TOCSIN_VERSION, true );
	}

	/**
	 * Adds the link "Settings" to the plugin's row in the list of plugins.
	 *
	 * @param mixed $links Existing links.
	 * @return mixed
	 */
	public function add_plugin_link( $links ) {
		if ( ! is_array( $links ) || ! current_user_can( self::capability() ) ) {
			return $links;
		}
		$link = sprintf( '<a href="%s">%s</a>', esc_url( self::url( self::CONNECTION ) ), esc_html__( 'Settings', 'tocsin' ) );
		return array_merge( array( 'settings' => $link ), $links );
	}

	/**
	 * Adds the help tabs, which are the same on all screens.
	 */
	public function add_help(): void {
		$screen = get_current_screen();
		if ( null === $screen ) {
			return;
		}
		foreach ( Tocsin_Admin_Help::tabs() as $id => $tab ) {
			$screen->add_help_tab(
				array(
					'id'      => 'tocsin-' . $id,
					'title'   => $tab['title'],
					'content' => $tab['content'],
				)
			);
		}
	}

	/**
	 * Checks capability and nonce, and ends the request if one is missing.
	 *
	 * @param string $action The action, which is also the name of its nonce.
	 */
	private static function authorize( string $action ): void {
		if ( ! current_user_can( self::capability() ) ) {
			self::deny_access();
		}
		check_admin_referer( $action, self::NONCE );
	}

	/**
	 * Ends the request with status 403.
	 */
	private static function deny_access(): void {
		wp_die(
			esc_html__( 'Sorry, you are not allowed to manage Tocsin on this site.', 'tocsin' ),
			'',
			array(
				'response'  => 403,
				'back_link' => true,
			)
		);
	}

	/**
	 * Redirects to the screen of the form, so that reloading the page does not submit it again.
	 *
	 * @param string $slug Slug of the screen.
	 */
	private static function redirect_to( string $slug ): void {
		$referer = wp_get_referer();
		$query   = is_string( $referer ) ? (string) wp_parse_url( $referer, PHP_URL_QUERY ) : '';
		parse_str( $query, $args );
		// The referer is used only if it is the same screen. It preserves the filters of the log.
		wp_safe_redirect( is_string( $referer ) && ( $args['page'] ?? '' ) === $slug ? $referer : self::url( $slug ) );
		exit;
	}

	/**
	 * Returns the menu icon, a bell. WordPress recolors it to match the admin color scheme.
	 */
	private static function icon(): string {
		$svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><path fill="#a7aaad" d="M10 1.5c-.8 0-1.4.6-1.4 1.4v.5C6.1 4 4.5 6.1 4.5 8.7v3.2L2.9 14.3c-.3.5 0 1.2.7 1.2h12.8c.7 0 1-.7.7-1.2l-1.6-2.4V8.7c0-2.6-1.6-4.7-4.1-5.3v-.5c0-.8-.6-1.4-1.4-1.4zM7.8 16.7a2.2 2.2 0 0 0 4.4 0z"/></svg>';
		// phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_encode -- The format that svg-painter.js of WordPress expects.
		return 'data:image/svg+xml;base64,' . base64_encode( $svg );
	}
}
