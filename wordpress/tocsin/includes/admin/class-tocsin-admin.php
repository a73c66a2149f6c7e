<?php
/**
 * The menu "Tocsin" and everything its screens have in common.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Owns the menu, the capability, the way back from a form, the assets and the help.
 */
final class Tocsin_Admin {

	const CONNECTION = 'tocsin';
	const TEMPLATES  = 'tocsin-templates';
	const LOG        = 'tocsin-log';

	/**
	 * Name of the nonce in forms and links. Not _wpnonce: a list table puts one of its own into the form around it.
	 */
	const NONCE = 'tocsin_nonce';

	/**
	 * The screens by their slug.
	 *
	 * @var array<string, Tocsin_Admin_Screen>
	 */
	private array $screens;

	/**
	 * Takes the parts that the screens show; nothing is hooked yet.
	 *
	 * @param Tocsin_Companion $companion The one place that knows all parts.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->screens = array(
			self::CONNECTION => new Tocsin_Admin_Connection( $companion ),
			self::TEMPLATES  => new Tocsin_Admin_Templates( $companion ),
			self::LOG        => new Tocsin_Admin_Log( $companion ),
		);
	}

	/**
	 * Attaches to wp-admin. Not called on the front of the site.
	 */
	public function register(): void {
		add_action( 'admin_menu', array( $this, 'add_menu' ) );
		add_action( 'admin_enqueue_scripts', array( $this, 'enqueue' ) );
		add_filter( 'plugin_action_links_' . plugin_basename( TOCSIN_FILE ), array( $this, 'add_plugin_link' ) );
		// Applies outside of the screen itself: WordPress saves screen options before it knows the screen.
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
	 * Who may see and change anything here.
	 */
	public static function capability(): string {
		/**
		 * Filters the capability that the screens of Tocsin ask for.
		 *
		 * @param string $capability Default: manage_options.
		 */
		$capability = apply_filters( 'tocsin_capability', 'manage_options' );
		return is_string( $capability ) && '' !== $capability ? $capability : 'manage_options';
	}

	/**
	 * The menu and its three screens.
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
	 * The frame around every screen: heading, tabs, and what the last form had to say.
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
	 * The address of a screen.
	 *
	 * @param string                $slug One of the constants above.
	 * @param array<string, string> $args Query arguments, not yet encoded.
	 */
	public static function url( string $slug, array $args = array() ): string {
		return add_query_arg( array_map( 'rawurlencode', array( 'page' => $slug ) + $args ), admin_url( 'admin.php' ) );
	}

	/**
	 * Opens a form that ends up at one of the actions.
	 *
	 * @param string $action One of a screen's actions().
	 * @param string $class  Classes for the form.
	 */
	public static function open_form( string $action, string $class = '' ): void {
		printf( '<form method="post" action="%s" class="%s">', esc_url( admin_url( 'admin-post.php' ) ), esc_attr( $class ) );
		printf( '<input type="hidden" name="action" value="%s">', esc_attr( $action ) );
		wp_nonce_field( $action, self::NONCE );
	}

	/**
	 * CSS, and JavaScript that nothing depends on.
	 *
	 * @param mixed $hook The screen being shown.
	 */
	public function enqueue( $hook ): void {
		if ( ! is_string( $hook ) || false === strpos( $hook, 'tocsin' ) ) {
			return;
		}
		wp_enqueue_style( 'tocsin-admin', plugins_url( 'assets/admin.css', TOCSIN_FILE ), array(), TOCSIN_VERSION );
		wp_enqueue_script( 'tocsin-admin', plugins_url( 'assets/admin.js', TOCSIN_FILE ), array(), TOCSIN_VERSION, true );
	}

	/**
	 * "Settings" in the row of the plugin.
	 *
	 * @param mixed $links The links that are there.
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
	 * The help tab, the same on all three screens.
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
	 * Ends the request unless the form is ours and the user may send it.
	 *
	 * @param string $action The action, also the name of its nonce.
	 */
	private static function authorize( string $action ): void {
		if ( ! current_user_can( self::capability() ) ) {
			self::deny_access();
		}
		check_admin_referer( $action, self::NONCE );
	}

	/**
	 * 403, in words.
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
	 * Back to the screen that the form was on, so that reloading it sends nothing twice.
	 *
	 * @param string $slug The screen.
	 */
	private static function redirect_to( string $slug ): void {
		$referer = wp_get_referer();
		$query   = is_string( $referer ) ? (string) wp_parse_url( $referer, PHP_URL_QUERY ) : '';
		parse_str( $query, $args );
		// Only a page of the same screen, so that a filtered log comes back filtered.
		wp_safe_redirect( is_string( $referer ) && ( $args['page'] ?? '' ) === $slug ? $referer : self::url( $slug ) );
		exit;
	}

	/**
	 * A bell in one colour; WordPress paints it to match the admin colour scheme.
	 */
	private static function icon(): string {
		$svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><path fill="#a7aaad" d="M10 1.5c-.8 0-1.4.6-1.4 1.4v.5C6.1 4 4.5 6.1 4.5 8.7v3.2L2.9 14.3c-.3.5 0 1.2.7 1.2h12.8c.7 0 1-.7.7-1.2l-1.6-2.4V8.7c0-2.6-1.6-4.7-4.1-5.3v-.5c0-.8-.6-1.4-1.4-1.4zM7.8 16.7a2.2 2.2 0 0 0 4.4 0z"/></svg>';
		// phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_encode -- The form that svg-painter.js of WordPress expects.
		return 'data:image/svg+xml;base64,' . base64_encode( $svg );
	}
}
