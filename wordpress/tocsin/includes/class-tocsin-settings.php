<?php
/**
 * Settings of the site.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Reads and writes the options. Constants in wp-config.php override stored values.
 */
final class Tocsin_Settings {
	const URL       = 'tocsin_url';
	const KEY       = 'tocsin_key';
	const TEMPLATES = 'tocsin_templates';

	/** Example line for wp-config.php. */
	const URL_LINE = "define( 'TOCSIN_URL', 'https://tocsin.example.com' );";

	/**
	 * Template registry, for default texts.
	 *
	 * @var Tocsin_Templates
	 */
	private Tocsin_Templates $templates;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Templates $templates Template registry.
	 */
	public function __construct( Tocsin_Templates $templates ) {
		$this->templates = $templates;
	}

	/**
	 * Returns the gateway address; empty if not set.
	 */
	public function url(): string {
		return Tocsin_Gateway_Url::normalize( $this->is_url_constant() ? (string) TOCSIN_URL : (string) get_option( self::URL, '' ) );
	}

	/**
	 * Whether the address is set in wp-config.php.
	 */
	public function is_url_constant(): bool {
		return defined( 'TOCSIN_URL' ) && '' !== TOCSIN_URL;
	}

	/**
	 * Whether the address is read-only: a key from wp-config.php is sent only to an address from wp-config.php.
	 */
	public function is_url_fixed(): bool {
		return $this->is_url_constant() || $this->is_key_constant();
	}

	/**
	 * Stores the gateway address.
	 *
	 * @param string $url The address; empty deletes it.
	 * @return string Error message for the user if nothing was stored; otherwise empty.
	 */
	public function save_url( string $url ): string {
		$problem = $this->url_problem( $url );
		if ( '' === $problem ) {
			update_option( self::URL, Tocsin_Gateway_Url::normalize( $url ), false );
		}
		return $problem;
	}

	/**
	 * Validates an address and returns an error message for the user; empty if it is valid.
	 *
	 * @param string $url The address.
	 */
	private function url_problem( string $url ): string {
		$normalized = Tocsin_Gateway_Url::normalize( $url );
		if ( '' === $normalized && '' !== trim( $url ) ) {
			return Tocsin_Gateway_Url::requirement();
		}
		if ( $normalized === $this->url() ) {
			return '';
		}
		if ( $this->is_key_constant() && ! $this->is_url_constant() ) {
			return self::url_constant_message();
		}
		if ( '' !== $normalized && ! Tocsin_Gateway_Url::is_allowed( $normalized ) ) {
			return __( 'This address is inside the network of the server or has a non-standard port. On a multisite network, only a network administrator can enter it.', 'tocsin' );
		}
		return '';
	}

	/**
	 * Stores address and key together, or neither: a key must not be stored for another address than it was entered with.
	 *
	 * Values set in wp-config.php are not stored.
	 *
	 * @param string $url         The address.
	 * @param string $key         The API key; empty keeps the stored key, which must be bound to the same origin.
	 * @param bool   $removes_key Whether to delete the stored key, if there is no new one.
	 * @return string[] Error messages for the user if nothing was stored; otherwise empty.
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
	 * Returns the plaintext API key for a request to an address. Empty if there is no key, if it cannot be decrypted, or if it is bound to
	 * another origin.
	 *
	 * @param string $url The address of the request.
	 */
	public function key_for( string $url ): string {
		$origin = Tocsin_Gateway_Url::origin( $url );
		return '' !== $origin && $origin === $this->key_origin() ? $this->key() : '';
	}

	/**
	 * Returns the only origin that the key is sent to; empty if there is none.
	 */
	public function key_origin(): string {
		if ( $this->is_key_constant() && $this->is_url_constant() ) {
			return Tocsin_Gateway_Url::origin( $this->url() );
		}
		return Tocsin_Key_Origin::verified_origin( $this->is_key_constant() ? get_option( Tocsin_Key_Origin::OPTION ) : $this->stored_key()['bound'], $this->key() );
	}

	/**
	 * Binds keys stored by a version without bindings to the current address. An existing binding, even an invalid one, is never replaced.
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
	 * Returns the reason why events cannot be sent, as a message for the user; empty if they can.
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
	 * Returns the plaintext API key. Private: callers use key_for(), which checks the origin.
	 */
	private function key(): string {
		return $this->is_key_constant() ? trim( (string) TOCSIN_KEY ) : Tocsin_Cipher::decrypt( $this->stored_key()['sealed'] );
	}

	/**
	 * Whether a key is stored that cannot be decrypted, because the salts have changed.
	 */
	public function is_key_undecryptable(): bool {
		return ! $this->is_key_constant() && $this->has_key() && '' === $this->key();
	}

	/**
	 * Returns the message for a stored key that cannot be decrypted.
	 */
	public static function undecryptable_key_message(): string {
		return __( 'The stored API key cannot be decrypted because the secret keys in wp-config.php have changed. Enter the API key again.', 'tocsin' );
	}

	/**
	 * Returns the message for a key from wp-config.php without an address from there.
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
	 * Returns the message for a key from wp-config.php that is bound to a stored address.
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
	 * Returns the message for a stored key that is bound to another origin.
	 *
	 * @param string $origin The origin of the address.
	 */
	private static function other_origin_message( string $origin ): string {
		/* translators: %s: scheme, host and port of an address. */
		return sprintf( __( 'The stored API key was not entered for %s and is not sent there. Enter the API key again, together with the address.', 'tocsin' ), $origin );
	}

	/**
	 * Returns the message for a key without an address.
	 */
	private static function address_required_message(): string {
		return __( 'Enter the gateway address together with the API key. A key is sent only to the server that it was entered for.', 'tocsin' );
	}

	/**
	 * Whether there is a key, even if it cannot be decrypted.
	 */
	public function has_key(): bool {
		return $this->is_key_constant() || '' !== $this->stored_key()['sealed'];
	}

	/**
	 * Whether the key is set in wp-config.php.
	 */
	public function is_key_constant(): bool {
		return defined( 'TOCSIN_KEY' ) && '' !== TOCSIN_KEY;
	}

	/**
	 * Returns when the key was stored, in seconds since the Unix epoch; 0 if unknown.
	 */
	public function key_saved_at(): int {
		return $this->stored_key()['saved_at'];
	}

	/**
	 * Stores the API key, encrypted and bound to the origin of the current address.
	 *
	 * @param string $key The key.
	 * @return string Error message for the user if nothing was stored; otherwise empty.
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
	 * Validates a key and returns an error message for the user; empty if it is valid.
	 *
	 * @param string $key The key.
	 */
	private static function key_problem( string $key ): string {
		return preg_match( '/^svc_[\x21-\x7e]{1,251}$/D', $key ) ? '' : __( 'The API key must begin with svc_ and contain no spaces. Copy it again from the gateway.', 'tocsin' );
	}

	/**
	 * Deletes the stored API key.
	 */
	public function remove_key(): void {
		delete_option( self::KEY );
	}

	/**
	 * Returns the option of the key with all fields.
	 *
	 * @return array With sealed (encrypted key), saved_at (int) and bound (from Tocsin_Key_Origin::bind(); empty if stored by an older version).
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
	 * Whether a template is enabled.
	 *
	 * @param string $template_id Template id.
	 */
	public function is_enabled( string $template_id ): bool {
		$saved = $this->saved_template( $template_id );
		if ( isset( $saved['on'] ) ) {
			return (bool) $saved['on'];
		}
		$template = $this->templates->find( $template_id );
		return null !== $template && $template->is_enabled_by_default();
	}

	/**
	 * Returns the texts of a template: saved ones, otherwise the defaults.
	 *
	 * @param string $template_id Template id.
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
	 * Stores the settings of a template.
	 *
	 * A text equal to the default is not stored, so that it follows updates and translations.
	 *
	 * @param string $template_id Template id.
	 * @param bool   $is_enabled  Whether it is enabled.
	 * @param array  $texts       Any of title, body, severity and category; missing ones are reset to their defaults.
	 * @return bool False if the template does not exist.
	 */
	public function save_template( string $template_id, bool $is_enabled, array $texts = array() ): bool {
		$template = $this->templates->find( $template_id );
		if ( null === $template ) {
			return false;
		}
		$saved = array( 'on' => $is_enabled );
		foreach ( $template->default_texts() as $field => $default ) {
			$text = self::sanitize_text( $field, $texts[ $field ] ?? null );
			if ( null !== $text && self::sanitize_text( $field, $default ) !== $text ) {
				$saved[ $field ] = $text;
			}
		}
		update_option( self::TEMPLATES, array( $template_id => $saved ) + $this->saved_templates(), true );
		// Attaches the template in this request if it was enabled.
		do_action( 'tocsin_templates_changed' );
		return true;
	}

	/**
	 * Sanitizes a text, severity or category; null stands for the default.
	 *
	 * @param string $field Name of the field.
	 * @param mixed  $value Submitted value.
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
	 * Returns the saved settings of a template.
	 *
	 * @param string $template_id Template id.
	 */
	private function saved_template( string $template_id ): array {
		$saved = $this->saved_templates()[ $template_id ] ?? array();
		return is_array( $saved ) ? $saved : array();
	}

	/**
	 * Returns the saved settings of all templates.
	 */
	private function saved_templates(): array {
		$saved = get_option( self::TEMPLATES, array() );
		return is_array( $saved ) ? $saved : array();
	}
}
