<?php
/**
 * What the owner of the site chose.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * The options. Constants in wp-config.php win over what is stored.
 */
final class Tocsin_Settings {
	const URL       = 'tocsin_url';
	const KEY       = 'tocsin_key';
	const TEMPLATES = 'tocsin_templates';

	/** What to add to wp-config.php. */
	const URL_LINE = "define( 'TOCSIN_URL', 'https://tocsin.example.com' );";

	/**
	 * For the defaults of a template.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * Takes the registry.
	 *
	 * @param Tocsin_Templates $templates The registry.
	 */
	public function __construct( Tocsin_Templates $templates ) {
		$this->templates = $templates;
	}

	/**
	 * The address of the gateway; empty when not set.
	 */
	public function url(): string {
		return Tocsin_Gateway_Url::normalize( $this->is_url_constant() ? (string) TOCSIN_URL : (string) get_option( self::URL, '' ) );
	}

	/**
	 * Whether wp-config.php says the address, so that it cannot be changed here.
	 */
	public function is_url_constant(): bool {
		return defined( 'TOCSIN_URL' ) && '' !== TOCSIN_URL;
	}

	/**
	 * Whether the address cannot be changed here: a key from wp-config.php goes only where wp-config.php says.
	 */
	public function is_url_fixed(): bool {
		return $this->is_url_constant() || $this->is_key_constant();
	}

	/**
	 * Stores the address of the gateway.
	 *
	 * @param string $url The address; empty forgets it.
	 * @return string What is wrong with it, for people; then nothing changes. Empty when it was stored.
	 */
	public function save_url( string $url ): string {
		$problem = $this->url_problem( $url );
		if ( '' === $problem ) {
			update_option( self::URL, Tocsin_Gateway_Url::normalize( $url ), false );
		}
		return $problem;
	}

	/**
	 * What is wrong with an address, for people; empty when it can be stored.
	 *
	 * @param string $url The address.
	 */
	private function url_problem( string $url ): string {
		$clean = Tocsin_Gateway_Url::normalize( $url );
		if ( '' === $clean && '' !== trim( $url ) ) {
			return Tocsin_Gateway_Url::requirement();
		}
		if ( $clean === $this->url() ) {
			return '';
		}
		if ( $this->is_key_constant() && ! $this->is_url_constant() ) {
			return self::url_constant_message();
		}
		if ( '' !== $clean && ! Tocsin_Gateway_Url::is_allowed( $clean ) ) {
			return __( 'This address is inside the network of the server or has a non-standard port. On a multisite network, only a network administrator can enter it.', 'tocsin' );
		}
		return '';
	}

	/**
	 * Stores address and key together, or neither: a key is never stored for another address than the one it was entered with.
	 *
	 * What wp-config.php says is not stored.
	 *
	 * @param string $url         The address.
	 * @param string $key         The API key; empty keeps the stored one, which must be for the same origin.
	 * @param bool   $removes_key Whether to forget the stored key, if there is no new one.
	 * @return string[] What is wrong, for people; then nothing changes. Empty when everything was stored.
	 */
	public function save_connection( string $url, string $key, bool $removes_key ): array {
		$url      = $this->is_url_constant() ? $this->url() : $url;
		$key      = $this->is_key_constant() ? '' : trim( $key );
		$origin   = Tocsin_Gateway_Url::origin( Tocsin_Gateway_Url::normalize( $url ) );
		$problems = array( $this->is_url_constant() ? '' : $this->url_problem( $url ) );
		if ( '' !== $key ) {
			$problems[] = self::key_problem( $key );
			$problems[] = '' === $origin ? self::address_required_message() : '';
		} elseif ( ! $removes_key && ! $this->is_key_constant() && $this->has_key() && '' !== $origin && $this->key_origin() !== $origin ) {
			$problems[] = $this->is_key_undecryptable() ? self::undecryptable_key_message() : self::other_origin_message( $origin );
		}
		$problems = array_values( array_filter( $problems, 'strlen' ) );
		if ( array() !== $problems ) {
			return $problems;
		}
		if ( ! $this->is_url_fixed() ) {
			$this->save_url( $url );
		}
		if ( '' !== $key ) {
			$this->save_key( $key );
		} elseif ( $removes_key && ! $this->is_key_constant() ) {
			$this->remove_key();
		}
		return array();
	}

	/**
	 * The API key in the clear, for a request to this address. Empty when there is none, when it cannot be read, or when it is for another
	 * origin.
	 *
	 * @param string $url The address that is called.
	 */
	public function key_for( string $url ): string {
		$origin = Tocsin_Gateway_Url::origin( $url );
		return '' !== $origin && $origin === $this->key_origin() ? $this->key() : '';
	}

	/**
	 * The only origin that the key is sent to; empty when it is sent nowhere.
	 */
	public function key_origin(): string {
		if ( $this->is_key_constant() && $this->is_url_constant() ) {
			return Tocsin_Gateway_Url::origin( $this->url() );
		}
		return Tocsin_Key_Origin::verified_origin( $this->is_key_constant() ? get_option( Tocsin_Key_Origin::OPTION ) : $this->stored_key()['bound'], $this->key() );
	}

	/**
	 * Binds the keys of a site that has run a version without bindings to the address they have been sent to. Once: a binding that is
	 * there, however wrong, is not replaced.
	 */
	public function bind_legacy_keys(): void {
		$url    = $this->url();
		$stored = $this->stored_key();
		$key    = Tocsin_Cipher::decrypt( $stored['sealed'] );
		if ( '' !== $key && array() === $stored['bound'] && '' !== $url ) {
			update_option( self::KEY, array( 'bound' => Tocsin_Key_Origin::bind( $key, $url ) ) + $stored, false );
		}
		if ( $this->is_key_constant() && ! $this->is_url_constant() && '' !== $url ) {
			add_option( Tocsin_Key_Origin::OPTION, Tocsin_Key_Origin::bind( $this->key(), $url ), '', false );
		}
	}

	/**
	 * Why nothing can be sent, for people; empty when something can.
	 */
	public function connection_problem(): string {
		$url = $this->url();
		if ( '' !== $this->key_for( $url ) ) {
			return '';
		}
		if ( $this->is_url_constant() && '' === $url ) {
			return Tocsin_Gateway_Url::requirement();
		}
		if ( $this->is_key_constant() && ! $this->is_url_constant() ) {
			return self::url_constant_message();
		}
		if ( '' === $url ) {
			return __( 'The gateway address is not set.', 'tocsin' );
		}
		if ( ! $this->has_key() || $this->is_key_constant() ) {
			return __( 'The API key is not set.', 'tocsin' );
		}
		return $this->is_key_undecryptable() ? self::undecryptable_key_message() : self::other_origin_message( Tocsin_Gateway_Url::origin( $url ) );
	}

	/**
	 * The API key in the clear. Only key_for() hands it out.
	 */
	private function key(): string {
		return $this->is_key_constant() ? trim( (string) TOCSIN_KEY ) : Tocsin_Cipher::decrypt( $this->stored_key()['sealed'] );
	}

	/**
	 * Whether a key is stored that was sealed under other salts; only entering it again helps.
	 */
	public function is_key_undecryptable(): bool {
		return ! $this->is_key_constant() && $this->has_key() && '' === $this->key();
	}

	/**
	 * What to do about a key that is_key_lost(), for people.
	 */
	public static function undecryptable_key_message(): string {
		return __( 'The stored API key cannot be decrypted because the secret keys in wp-config.php have changed. Enter the API key again.', 'tocsin' );
	}

	/**
	 * What to do when the key is in wp-config.php and the address is not, for people.
	 */
	public static function url_constant_message(): string {
		return sprintf(
			/* translators: 1: name of a constant, 2: name of a file, 3: a line of PHP. */
			__( '%1$s is set in %2$s, so the address must be set there as well. Add this line with the address of your gateway: %3$s', 'tocsin' ),
			'TOCSIN_KEY',
			'wp-config.php',
			self::URL_LINE
		);
	}

	/**
	 * How to change an address that a key from wp-config.php is bound to, for people.
	 */
	public static function legacy_address_message(): string {
		return sprintf(
			/* translators: 1: name of a constant, 2: name of a file, 3: a line of PHP. */
			__( '%1$s in %2$s was already used with this address when the plugin was updated, so it remains in use. To use another address, add it to %2$s: %3$s', 'tocsin' ),
			'TOCSIN_KEY',
			'wp-config.php',
			self::URL_LINE
		);
	}

	/**
	 * What to do about a stored key that is for another origin, for people.
	 *
	 * @param string $origin The origin of the address.
	 */
	private static function other_origin_message( string $origin ): string {
		/* translators: %s: scheme, host and port of an address. */
		return sprintf( __( 'The stored API key was not entered for %s and is not sent there. Enter the API key again, together with the address.', 'tocsin' ), $origin );
	}

	/**
	 * What to do about a key without an address, for people.
	 */
	private static function address_required_message(): string {
		return __( 'Enter the gateway address together with the API key. A key is sent only to the server that it was entered for.', 'tocsin' );
	}

	/**
	 * Whether a key is there, readable or not.
	 */
	public function has_key(): bool {
		return $this->is_key_constant() || '' !== $this->stored_key()['sealed'];
	}

	/**
	 * Whether wp-config.php says the key, so that it cannot be changed here.
	 */
	public function is_key_constant(): bool {
		return defined( 'TOCSIN_KEY' ) && '' !== TOCSIN_KEY;
	}

	/**
	 * When the stored key was stored, in seconds since the epoch; 0 when there is none.
	 */
	public function key_saved_at(): int {
		return $this->stored_key()['saved_at'];
	}

	/**
	 * Stores the API key, sealed and bound to the origin of the address.
	 *
	 * @param string $key The key.
	 * @return string What is wrong with it, for people; then nothing changes. Empty when it was stored.
	 */
	public function save_key( string $key ): string {
		$key     = trim( $key );
		$url     = $this->url();
		$problem = '' === $url ? self::address_required_message() : self::key_problem( $key );
		if ( '' !== $problem ) {
			return $problem;
		}
		$stored = array(
			'sealed'   => Tocsin_Cipher::encrypt( $key ),
			'saved_at' => time(),
			'bound'    => Tocsin_Key_Origin::bind( $key, $url ),
		);
		update_option( self::KEY, $stored, false );
		return '';
	}

	/**
	 * What is wrong with a key, for people; empty when it can be stored.
	 *
	 * @param string $key The key.
	 */
	private static function key_problem( string $key ): string {
		return preg_match( '/^svc_[\x21-\x7e]{1,251}$/D', $key ) ? '' : __( 'The API key must begin with svc_ and contain no spaces. Copy it again from the gateway.', 'tocsin' );
	}

	/**
	 * Forgets the stored API key.
	 */
	public function remove_key(): void {
		delete_option( self::KEY );
	}

	/**
	 * The option of the key, complete.
	 *
	 * @return array With sealed (string), saved_at (int) and bound (what Tocsin_Key_Origin made; empty when an older version stored the key).
	 */
	private function stored_key(): array {
		$stored = get_option( self::KEY );
		return array(
			'sealed'   => is_array( $stored ) && is_string( $stored['sealed'] ?? null ) ? $stored['sealed'] : '',
			'saved_at' => is_array( $stored ) ? (int) ( $stored['saved_at'] ?? 0 ) : 0,
			'bound'    => is_array( $stored ) ? (array) ( $stored['bound'] ?? array() ) : array(),
		);
	}

	/**
	 * Whether a template is on.
	 *
	 * @param string $template_id Its id.
	 */
	public function is_enabled( string $template_id ): bool {
		$choice = $this->saved_template( $template_id );
		if ( isset( $choice['on'] ) ) {
			return (bool) $choice['on'];
		}
		$template = $this->templates->find( $template_id );
		return null !== $template && $template->is_enabled_by_default();
	}

	/**
	 * The texts and the rank of a template: the owner's where there are some, else its own.
	 *
	 * @param string $template_id Its id.
	 * @return array With title, body, severity and category.
	 */
	public function texts( string $template_id ): array {
		$template = $this->templates->find( $template_id );
		$defaults = null === $template ? array(
			'title'    => '',
			'body'     => '',
			'severity' => '',
			'category' => 'info',
		) : $template->default_texts();
		return array_merge( $defaults, array_filter( array_intersect_key( $this->saved_template( $template_id ), $defaults ), 'is_string' ) );
	}

	/**
	 * Stores what the owner chose for a template.
	 *
	 * What equals the template's own text is not stored, so that it follows updates and translations.
	 *
	 * @param string $template_id Its id.
	 * @param bool   $is_on       Whether it listens.
	 * @param array  $texts       Those of title, body, severity and category that are the owner's; the others are the template's own again.
	 * @return bool False when there is no such template.
	 */
	public function save_template( string $template_id, bool $is_on, array $texts = array() ): bool {
		$template = $this->templates->find( $template_id );
		if ( null === $template ) {
			return false;
		}
		$choice = array( 'on' => $is_on );
		foreach ( $template->default_texts() as $field => $own ) {
			$text = self::sanitize_text( $field, $texts[ $field ] ?? null );
			if ( null !== $text && self::sanitize_text( $field, $own ) !== $text ) {
				$choice[ $field ] = $text;
			}
		}
		update_option( self::TEMPLATES, array( $template_id => $choice ) + $this->saved_templates(), true );
		// One that was switched on listens from now on.
		do_action( 'tocsin_templates_changed' );
		return true;
	}

	/**
	 * A text or rank that may be stored, or null for the template's own.
	 *
	 * @param string $field Which.
	 * @param mixed  $value What was entered.
	 */
	private static function sanitize_text( string $field, $value ): ?string {
		if ( ! is_string( $value ) ) {
			return null;
		}
		switch ( $field ) {
			case 'severity':
				return in_array( $value, Tocsin_Template::SEVERITIES, true ) ? $value : null;
			case 'category':
				return in_array( $value, Tocsin_Template::CATEGORIES, true ) ? $value : null;
			case 'title':
				$title = mb_substr( trim( (string) preg_replace( '/\s+/u', ' ', Tocsin_Text::sanitize( $value ) ) ), 0, 500 );
				return '' === $title ? null : $title;
		}
		return mb_substr( trim( str_replace( "\r\n", "\n", Tocsin_Text::sanitize( $value ) ) ), 0, 5000 );
	}

	/**
	 * What is stored for a template.
	 *
	 * @param string $template_id Its id.
	 */
	private function saved_template( string $template_id ): array {
		$choice = $this->saved_templates()[ $template_id ] ?? array();
		return is_array( $choice ) ? $choice : array();
	}

	/**
	 * What is stored for all templates.
	 */
	private function saved_templates(): array {
		$choices = get_option( self::TEMPLATES, array() );
		return is_array( $choices ) ? $choices : array();
	}
}
