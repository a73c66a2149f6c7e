<?php
/**
 * Connection to the gateway.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Reads and writes the gateway address and the API key. Constants in wp-config.php override stored values.
 */
final class Tocsin_Connection {
	const URL = 'tocsin_url';
	const KEY = 'tocsin_key';

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
			return Tocsin_Connection_Messages::url_constant();
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
	public function save( string $url, string $key, bool $removes_key ): array {
		$url      = $this->is_url_constant() ? $this->url() : $url;
		$key      = $this->is_key_constant() ? '' : trim( $key );
		$origin   = Tocsin_Gateway_Url::origin( Tocsin_Gateway_Url::normalize( $url ) );
		$problems = array( $this->is_url_constant() ? '' : $this->url_problem( $url ) );
		if ( '' !== $key ) {
			$problems[] = self::key_problem( $key );
			$problems[] = '' === $origin ? Tocsin_Connection_Messages::address_required() : '';
		} elseif ( ! $removes_key && ! $this->is_key_constant() && $this->has_key() && '' !== $origin && $this->key_origin() !== $origin ) {
			$problems[] = $this->is_key_undecryptable() ? Tocsin_Connection_Messages::undecryptable_key() : Tocsin_Connection_Messages::other_origin( $origin );
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
	public function problem(): string {
		$url = $this->url();
		if ( '' !== $this->key_for( $url ) ) {
			return '';
		}
		if ( $this->is_url_constant() && '' === $url ) {
			return Tocsin_Gateway_Url::requirement();
		}
		if ( $this->is_key_constant() && ! $this->is_url_constant() ) {
			return Tocsin_Connection_Messages::url_constant();
		}
		if ( '' === $url ) {
			return __( 'The gateway address is not set.', 'tocsin' );
		}
		if ( ! $this->has_key() || $this->is_key_constant() ) {
			return __( 'The API key is not set.', 'tocsin' );
		}
		return $this->is_key_undecryptable() ? Tocsin_Connection_Messages::undecryptable_key() : Tocsin_Connection_Messages::other_origin( Tocsin_Gateway_Url::origin( $url ) );
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
		$problem = '' === $url ? Tocsin_Connection_Messages::address_required() : self::key_problem( $key );
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
}
