<?php
/**
 * The screen "Connection".
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Form for gateway address and API key, monitoring check, and status of the queue.
 */
final class Tocsin_Admin_Connection implements Tocsin_Admin_Screen {

	const SAVE  = 'tocsin_save_connection';
	const CHECK = 'tocsin_monitoring_check';

	/**
	 * The plugin's services.
	 *
	 * @var Tocsin_Companion
	 */
	private Tocsin_Companion $companion;

	/**
	 * Sets the dependencies.
	 *
	 * @param Tocsin_Companion $companion The plugin's services.
	 */
	public function __construct( Tocsin_Companion $companion ) {
		$this->companion = $companion;
	}

	/**
	 * Name of the screen in menu and heading.
	 */
	public function name(): string {
		return __( 'Connection', 'tocsin' );
	}

	/**
	 * Does nothing: the screen has no options.
	 */
	public function load(): void {
	}

	/**
	 * Handlers of the forms.
	 *
	 * @return array<string, callable(): void>
	 */
	public function actions(): array {
		return array(
			self::SAVE  => array( $this, 'save' ),
			self::CHECK => array( $this, 'check' ),
		);
	}

	/**
	 * Prints the screen.
	 */
	public function render(): void {
		if ( $this->companion->connection()->is_key_undecryptable() ) {
			Tocsin_Admin_Notices::show( 'error', Tocsin_Connection_Messages::undecryptable_key(), array(), false );
		} elseif ( $this->companion->connection()->has_key() && '' !== $this->companion->connection()->problem() ) {
			Tocsin_Admin_Notices::show( 'error', __( 'Events are not sent.', 'tocsin' ), array( $this->companion->connection()->problem() ), false );
		}
		$this->warn_about_plain_http();
		echo '<p class="tocsin-intro">' . esc_html__( 'Tocsin sends notifications about events on this site to your phone, email and devices. It needs the address of your gateway and an API key created there.', 'tocsin' ) . '</p>';
		echo '<div class="tocsin-columns"><div class="tocsin-main">';
		$this->render_form();
		$this->render_check();
		echo '</div><div class="tocsin-side">';
		( new Tocsin_Admin_Status( $this->companion ) )->render();
		echo '</div></div>';
	}

	/**
	 * Prints the form for address and key.
	 */
	private function render_form(): void {
		$connection = $this->companion->connection();
		Tocsin_Admin::open_form( self::SAVE );
		echo '<table class="form-table" role="presentation"><tbody>';
		echo '<tr><th scope="row"><label for="tocsin-url">' . esc_html__( 'Gateway address', 'tocsin' ) . '</label></th><td>';
		printf(
			'<input type="url" id="tocsin-url" name="url" class="regular-text code" value="%s" placeholder="https://tocsin.example.com" aria-describedby="tocsin-url-help" autocomplete="off"%s>',
			esc_attr( $connection->url() ),
			$connection->is_url_fixed() ? ' readonly' : ''
		);
		echo '<p class="description" id="tocsin-url-help">';
		if ( $connection->is_url_constant() ) {
			self::print_constant( 'TOCSIN_URL' );
			echo '' === $connection->url() ? ' <strong>' . esc_html( Tocsin_Gateway_Url::requirement() ) . '</strong>' : '';
		} elseif ( $connection->is_key_constant() ) {
			echo esc_html( '' === $connection->problem() ? Tocsin_Connection_Messages::legacy_address() : Tocsin_Connection_Messages::url_constant() );
		} else {
			esc_html_e( 'The address in the curl command that the gateway shows with a new key, not the address of its inbox.', 'tocsin' );
		}
		echo '</p></td></tr>';
		echo '<tr><th scope="row"><label for="tocsin-key">' . esc_html__( 'API key', 'tocsin' ) . '</label></th><td>';
		$this->render_key_field();
		echo '</td></tr></tbody></table>';
		if ( ! $connection->is_key_constant() ) {
			submit_button( __( 'Save connection', 'tocsin' ), 'primary', 'tocsin-save' );
		}
		echo '</form>';
	}

	/**
	 * Prints the field of the key. The stored key is never printed.
	 */
	private function render_key_field(): void {
		$connection = $this->companion->connection();
		if ( $connection->is_key_constant() ) {
			echo '<input type="text" id="tocsin-key" class="regular-text" value="••••••••••••" readonly aria-describedby="tocsin-key-help">';
			echo '<p class="description" id="tocsin-key-help">';
			self::print_constant( 'TOCSIN_KEY' );
			echo ' ' . esc_html( $this->key_destination() ) . '</p>';
			return;
		}
		$is_stored = $connection->has_key();
		printf(
			'<input type="password" id="tocsin-key" name="key" class="regular-text code" value="" placeholder="%s" aria-describedby="tocsin-key-help" autocomplete="new-password" spellcheck="false">',
			esc_attr( $is_stored ? __( 'Leave empty to keep the stored key', 'tocsin' ) : 'svc_…' )
		);
		echo '<p class="description" id="tocsin-key-help">';
		if ( ! $is_stored ) {
			esc_html_e( 'Begins with svc_. The key is stored encrypted and not shown again.', 'tocsin' );
			echo '</p>';
			return;
		}
		$since = $connection->key_saved_at();
		echo '<span class="dashicons dashicons-lock" aria-hidden="true"></span> ';
		echo esc_html(
			$since > 0
				/* translators: %s: date and time. */
				? sprintf( __( 'Key stored on %s. It is encrypted and not shown again.', 'tocsin' ), Tocsin_Admin_Labels::date_time( $since ) )
				: __( 'A key is stored. It is encrypted and not shown again.', 'tocsin' )
		);
		echo ' ' . esc_html( $this->key_destination() ) . '</p>';
		echo '<p><label for="tocsin-remove-key"><input type="checkbox" id="tocsin-remove-key" name="remove_key" value="1"> ' . esc_html__( 'Remove the stored key', 'tocsin' ) . '</label></p>';
	}

	/**
	 * Returns a sentence with the origin that the key is sent to.
	 */
	private function key_destination(): string {
		$connection = $this->companion->connection();
		if ( '' === $connection->key_origin() ) {
			return '';
		}
		$sentence = $connection->is_key_constant()
			/* translators: %s: scheme, host and port of an address. */
			? __( 'It is sent only to %s.', 'tocsin' )
			/* translators: %s: scheme, host and port of an address. */
			: __( 'It is sent only to %s. To use another server, enter the key again.', 'tocsin' );
		return sprintf( $sentence, $connection->key_origin() );
	}

	/**
	 * Prints the button for the monitoring check.
	 */
	private function render_check(): void {
		$connection = $this->companion->connection();
		$is_ready   = '' === $connection->problem();
		echo '<h2>' . esc_html__( 'Monitoring check', 'tocsin' ) . '</h2>';
		Tocsin_Admin::open_form( self::CHECK );
		echo '<p id="tocsin-check-help">' . esc_html(
			$is_ready
				? __( 'Sends one real notification with the saved address and key, and shows its delivery status.', 'tocsin' )
				: __( 'Save an address and a key first.', 'tocsin' )
		) . '</p>';
		submit_button(
			__( 'Send monitoring check', 'tocsin' ),
			'secondary',
			'tocsin-check',
			true,
			array( 'aria-describedby' => 'tocsin-check-help' ) + ( $is_ready ? array() : array( 'disabled' => 'disabled' ) )
		);
		echo '</form>';
	}

	/**
	 * Saves address and key together, except those set in wp-config.php.
	 */
	public function save(): void {
		$connection = $this->companion->connection();
		// phpcs:disable WordPress.Security.NonceVerification.Missing, WordPress.Security.ValidatedSanitizedInput.InputNotSanitized -- Tocsin_Admin has checked the nonce; Tocsin_Connection validates address and key.
		$url      = isset( $_POST['url'] ) && is_string( $_POST['url'] ) ? wp_unslash( $_POST['url'] ) : $connection->url();
		$key      = isset( $_POST['key'] ) && is_string( $_POST['key'] ) ? wp_unslash( $_POST['key'] ) : '';
		$problems = $connection->save( $url, $key, isset( $_POST['remove_key'] ) );
		// phpcs:enable
		if ( array() === $problems ) {
			Tocsin_Admin_Notices::add( 'success', __( 'Connection saved.', 'tocsin' ) );
		} else {
			Tocsin_Admin_Notices::add( 'error', __( 'Nothing was saved.', 'tocsin' ), $problems );
		}
	}

	/**
	 * Sends the monitoring check and stores its result as a notice.
	 */
	public function check(): void {
		$is_accepted = $this->companion->send_monitoring_check();
		$result      = $this->companion->last_result();
		if ( $is_accepted && null !== $result ) {
			Tocsin_Admin_Notices::add(
				'success',
				__( 'The gateway accepted the monitoring check.', 'tocsin' ),
				Tocsin_Admin_Labels::delivery_status( $result->body() )
			);
			return;
		}
		Tocsin_Admin_Notices::add( 'error', __( 'The monitoring check was not accepted.', 'tocsin' ), array( $this->companion->last_error() ) );
	}

	/**
	 * Warns if key and notifications are sent over plain HTTP, except to a host in the local network.
	 */
	private function warn_about_plain_http(): void {
		$url  = $this->companion->connection()->url();
		$host = (string) wp_parse_url( $url, PHP_URL_HOST );
		if ( 'http' !== wp_parse_url( $url, PHP_URL_SCHEME ) || self::is_local( $host ) ) {
			return;
		}
		Tocsin_Admin_Notices::show(
			'warning',
			/* translators: %s: host name of the gateway. */
			sprintf( __( 'The API key and the notifications are sent to %s unencrypted.', 'tocsin' ), $host ),
			array( __( 'The address begins with http://. Set up a certificate for the gateway and use https://.', 'tocsin' ) ),
			false
		);
	}

	/**
	 * Whether a host is this machine or in a private network.
	 *
	 * @param string $host Host name or IP address.
	 */
	private static function is_local( string $host ): bool {
		$host = trim( strtolower( $host ), '[]' );
		if ( false !== filter_var( $host, FILTER_VALIDATE_IP ) ) {
			return false === filter_var( $host, FILTER_VALIDATE_IP, FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE );
		}
		return false === strpos( $host, '.' ) || 1 === preg_match( '/\.(localhost|local|internal|test|home\.arpa|lan)$/', $host );
	}

	/**
	 * Prints a hint that a value is set in wp-config.php.
	 *
	 * @param string $name Name of the constant.
	 */
	private static function print_constant( string $name ): void {
		printf(
			/* translators: 1: name of a constant, 2: name of a file. */
			esc_html__( 'Set by %1$s in %2$s; change it there.', 'tocsin' ),
			'<code>' . esc_html( $name ) . '</code>',
			'<code>wp-config.php</code>'
		);
	}
}
