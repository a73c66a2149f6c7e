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
		return $this->is_url_constant() ? Tocsin_Address::clean( (string) TOCSIN_URL ) : (string) get_option( self::URL, '' );
	}

	/**
	 * Whether wp-config.php says the address, so that it cannot be changed here.
	 */
	public function is_url_constant(): bool {
		return defined( 'TOCSIN_URL' ) && '' !== TOCSIN_URL;
	}

	/**
	 * Stores the address of the gateway.
	 *
	 * @param string $url The address; empty forgets it.
	 * @return string What is wrong with it, for people; then nothing changes. Empty when it was stored.
	 */
	public function save_url( string $url ): string {
		$clean = Tocsin_Address::clean( $url );
		if ( '' === $clean && '' !== trim( $url ) ) {
			return Tocsin_Address::rule();
		}
		if ( '' !== $clean && ! Tocsin_Address::may_reach( $clean ) ) {
			return __( 'This address lies inside the network of the server, or has an unusual port. On a network of sites only a network administrator may enter it.', 'tocsin' );
		}
		update_option( self::URL, $clean, false );
		return '';
	}

	/**
	 * The API key in the clear, for signing. Empty when there is none, or when it cannot be read.
	 */
	public function key(): string {
		return $this->is_key_constant() ? trim( (string) TOCSIN_KEY ) : Tocsin_Secret::open( $this->stored_key()['sealed'] );
	}

	/**
	 * Whether a key is stored that was sealed under other salts; only entering it again helps.
	 */
	public function is_key_lost(): bool {
		return ! $this->is_key_constant() && $this->has_key() && '' === $this->key();
	}

	/**
	 * What to do about a key that is_key_lost(), for people.
	 */
	public static function lost_key_words(): string {
		return __( 'The stored API key cannot be read any more, because the secret keys in wp-config.php have changed. Enter the API key again.', 'tocsin' );
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
	 * Stores the API key, sealed.
	 *
	 * @param string $key The key.
	 * @return string What is wrong with it, for people; then nothing changes. Empty when it was stored.
	 */
	public function save_key( string $key ): string {
		$key = trim( $key );
		if ( ! preg_match( '/^svc_[\x21-\x7e]{1,251}$/', $key ) ) {
			return __( 'The API key must begin with svc_ and hold no spaces. Copy it again from where it was made.', 'tocsin' );
		}
		$stored = array(
			'sealed'   => Tocsin_Secret::seal( $key ),
			'saved_at' => time(),
		);
		update_option( self::KEY, $stored, false );
		return '';
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
	 * @return array With sealed (string) and saved_at (int).
	 */
	private function stored_key(): array {
		$stored = get_option( self::KEY );
		return array(
			'sealed'   => is_array( $stored ) && is_string( $stored['sealed'] ?? null ) ? $stored['sealed'] : '',
			'saved_at' => is_array( $stored ) ? (int) ( $stored['saved_at'] ?? 0 ) : 0,
		);
	}

	/**
	 * Whether a template is on.
	 *
	 * @param string $template_id Its id.
	 */
	public function is_on( string $template_id ): bool {
		$choice = $this->choice( $template_id );
		if ( isset( $choice['on'] ) ) {
			return (bool) $choice['on'];
		}
		$template = $this->templates->find( $template_id );
		return null !== $template && $template->is_on_by_default();
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
		return array_merge( $defaults, array_filter( array_intersect_key( $this->choice( $template_id ), $defaults ), 'is_string' ) );
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
			$text = self::clean_text( $field, $texts[ $field ] ?? null );
			if ( null !== $text && self::clean_text( $field, $own ) !== $text ) {
				$choice[ $field ] = $text;
			}
		}
		update_option( self::TEMPLATES, array( $template_id => $choice ) + $this->choices(), true );
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
	private static function clean_text( string $field, $value ): ?string {
		if ( ! is_string( $value ) ) {
			return null;
		}
		switch ( $field ) {
			case 'severity':
				return in_array( $value, Tocsin_Template::SEVERITIES, true ) ? $value : null;
			case 'category':
				return in_array( $value, Tocsin_Template::CATEGORIES, true ) ? $value : null;
			case 'title':
				$title = mb_substr( trim( (string) preg_replace( '/\s+/u', ' ', Tocsin_Text::repair( $value ) ) ), 0, 500 );
				return '' === $title ? null : $title;
		}
		return mb_substr( trim( str_replace( "\r\n", "\n", Tocsin_Text::repair( $value ) ) ), 0, 5000 );
	}

	/**
	 * What is stored for a template.
	 *
	 * @param string $template_id Its id.
	 */
	private function choice( string $template_id ): array {
		$choice = $this->choices()[ $template_id ] ?? array();
		return is_array( $choice ) ? $choice : array();
	}

	/**
	 * What is stored for all templates.
	 */
	private function choices(): array {
		$choices = get_option( self::TEMPLATES, array() );
		return is_array( $choices ) ? $choices : array();
	}
}
