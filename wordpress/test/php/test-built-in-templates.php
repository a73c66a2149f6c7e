<?php
/**
 * Events of the built-in templates.
 */

declare( strict_types=1 );

final class Test_Built_In_Templates extends Tocsin_Test_Case {

	/** @var Tocsin_Companion */
	private $companion;

	protected function setUp(): void {
		parent::setUp();
		$this->companion = Tocsin_Companion::get_instance();
		$this->companion->queue()->flush();
	}

	private function enable( string ...$ids ): void {
		foreach ( $ids as $id ) {
			$this->assertTrue( $this->companion->template_settings()->save( $id, true ), $id );
		}
	}

	/**
	 * Returns the events created while `$code` runs, oldest first.
	 */
	private function events_of( callable $code ): array {
		$before = $this->events();
		$code();
		return array_values( array_diff_key( $this->events(), $before ) );
	}

	private function events(): array {
		$this->companion->queue()->flush();
		return array_column( array_reverse( $this->companion->queue()->list( array( 'per_page' => 100 ) ) ), null, 'id' );
	}

	public function test_texts_use_only_placeholders_of_their_template(): void {
		$all = $this->companion->templates()->all();
		$this->assertGreaterThan( 25, count( $all ) );
		foreach ( $all as $template ) {
			$texts = $template->default_texts();
			preg_match_all( '/\{([a-z_]+)/', $texts['title'] . $texts['body'], $used );
			$known = array_merge( $template->arg_names(), array( 'site_name' ) );
			$this->assertSame( array(), array_diff( $used[1], $known ), $template->id() );
			$this->assertFalse( $template->is_enabled_by_default() );
			$this->assertNotSame( '', $template->scenario_name() );
		}
	}

	public function test_templates_of_inactive_plugins_are_hidden(): void {
		$visible = fn() => array_keys( $this->companion->templates()->visible() );
		$before  = $visible();
		$this->assertContains( 'post_published', $before );
		add_filter( 'tocsin_active_plugin_identifiers', static fn( $slugs ) => array_merge( $slugs, array( 'wpforms-lite', 'woocommerce' ) ), -1 );
		$this->assertEqualsCanonicalizing(
			array( 'wpforms_sent', 'woocommerce_new_order', 'woocommerce_failed_order', 'woocommerce_cancelled_order', 'woocommerce_refund', 'woocommerce_low_stock', 'woocommerce_no_stock' ),
			array_values( array_diff( $visible(), $before ) )
		);
	}

	public function test_post_creates_an_event_when_published_but_not_when_saved_again(): void {
		$this->enable( 'post_published', 'post_trashed' );
		$id    = 0;
		$events = $this->events_of(
			static function () use ( &$id ) {
				$id = wp_insert_post( array( 'post_title' => 'About tea', 'post_status' => 'draft', 'post_author' => 1 ) );
				wp_publish_post( $id );
				wp_update_post( array( 'ID' => $id, 'post_title' => 'About green tea' ) );
				wp_insert_post( array( 'post_title' => 'A menu', 'post_type' => 'nav_menu_item', 'post_status' => 'publish' ) );
			}
		);
		$this->assertSame( array( 'Published: About tea' ), array_column( $events, 'title' ) );
		// wp_publish_post() sets the slug only after the hook.
		$this->assertSame( "Post by admin\n" . home_url( '/?p=' . $id ), $events[0]['body'] );
		$this->assertSame( array( 'Moved to the trash: About green tea' ), array_column( $this->events_of( static fn() => wp_trash_post( $id ) ), 'title' ) );
	}

	public function test_approved_and_pending_comments_create_events_and_spam_does_not(): void {
		$this->enable( 'comment_new', 'comment_pending' );
		$post  = wp_insert_post( array( 'post_title' => 'About tea' ) );
		$events = $this->events_of(
			static function () use ( $post ) {
				foreach ( array( 'Ada' => 1, 'Bob' => 0, 'Spammer' => 'spam' ) as $author => $approved ) {
					wp_insert_comment( array( 'comment_post_ID' => $post, 'comment_author' => $author, 'comment_content' => 'Nice', 'comment_approved' => $approved ) );
				}
				wp_insert_comment( array( 'comment_post_ID' => $post, 'comment_content' => 'A note of the shop', 'comment_type' => 'order_note', 'comment_approved' => 1 ) );
			}
		);
		$this->assertSame( array( 'Ada commented on About tea', 'Please moderate: Bob on About tea' ), array_column( $events, 'title' ) );
	}

	public function test_user_events_do_not_contain_passwords(): void {
		$this->enable( 'user_registered', 'role_changed', 'password_reset', 'administrator_login' );
		$events = $this->events_of(
			static function () {
				$id   = wp_insert_user( array( 'user_login' => 'ada', 'user_pass' => 'first-secret-1', 'user_email' => 'ada@example.com', 'role' => 'author' ) );
				$user = get_userdata( $id );
				$user->set_role( 'author' );
				do_action( 'wp_login', 'ada', $user );
				$user->set_role( 'administrator' );
				reset_password( $user, 'second-secret-2' );
				do_action( 'wp_login', 'ada', get_userdata( $id ) );
			}
		);
		$this->assertSame( array( 'New user: ada', 'ada is now administrator', 'ada reset their password', 'Administrator ada logged in' ), array_column( $events, 'title' ) );
		$this->assertSame( "ada (ada@example.com)\nRole: author", $events[0]['body'] );
		$this->assertDoesNotMatchRegularExpression( '/secret-\d|\$P\$|\$wp\$|\$2y\$/', wp_json_encode( $events, JSON_UNESCAPED_SLASHES ) );
	}

	public function test_many_failed_logins_create_one_event(): void {
		$this->enable( 'failed_logins' );
		$fail = static function ( int $times, string $name ): callable {
			return static function () use ( $times, $name ) {
				for ( $i = 0; $i < $times; $i++ ) {
					do_action( 'wp_login_failed', $name, new WP_Error( 'incorrect_password', 'guess-' . $i ) );
				}
			};
		};
		$this->assertSame( array(), $this->events_of( $fail( 9, 'admin' ) ) );
		$events = $this->events_of( $fail( 30, 'admin' ) );
		$this->assertSame( array( '10 failed logins within ten minutes' ), array_column( $events, 'title' ) );
		$this->assertStringContainsString( 'Last user name: admin', $events[0]['body'] );
		$this->assertStringNotContainsString( 'guess-', wp_json_encode( $events ) );

		// A password typed into the field of the user name must not be sent.
		delete_transient( Tocsin_Failed_Logins::STATE );
		$events = $this->events_of( $fail( 10, 'correct horse battery' ) );
		$this->assertCount( 1, $events );
		$this->assertStringNotContainsString( 'horse', wp_json_encode( $events ) );
	}

	public function test_each_update_is_reported_once(): void {
		$this->enable( 'update_plugins', 'update_core', 'updated' );
		$found = static function ( string $version ): object {
			return (object) array( 'last_checked' => time(), 'response' => array( 'tocsin/tocsin.php' => (object) array( 'new_version' => $version ) ) );
		};
		$events = $this->events_of(
			static function () use ( $found ) {
				set_site_transient( 'update_plugins', $found( '8.1' ) );
				set_site_transient( 'update_plugins', (object) array( 'last_checked' => 1 ) );
				set_site_transient( 'update_plugins', $found( '8.1' ) );
				set_site_transient( 'update_plugins', $found( '8.2' ) );
				set_site_transient( 'update_core', (object) array( 'updates' => array( (object) array( 'response' => 'latest', 'current' => '7.1.1' ), (object) array( 'response' => 'upgrade', 'current' => '7.2' ) ) ) );
				do_action( 'upgrader_process_complete', new stdClass(), array( 'action' => 'update', 'type' => 'plugin', 'plugins' => array( 'tocsin/tocsin.php' ) ) );
				do_action( 'upgrader_process_complete', new stdClass(), array( 'action' => 'install', 'type' => 'plugin' ) );
				do_action( 'upgrader_process_complete', new stdClass(), array( 'action' => 'update', 'type' => 'translation', 'translations' => array() ) );
			}
		);
		$this->assertSame(
			array( 'Plugin updates: Tocsin 8.1', 'Plugin updates: Tocsin 8.2', 'Update available: WordPress 7.2', 'Updated: Tocsin ' . TOCSIN_VERSION ),
			array_column( $events, 'title' )
		);
	}

	public function test_site_health_creates_an_event_if_critical_issues_increase(): void {
		$this->enable( 'site_health' );
		$health = static fn( int $critical ) => static fn() => set_transient( 'health-check-site-status-result', wp_json_encode( array( 'good' => 9, 'recommended' => 2, 'critical' => $critical ) ) );
		$this->assertSame( array( 'Site Health: 2 critical issues' ), array_column( $this->events_of( $health( 2 ) ), 'title' ) );
		$this->assertSame( array(), $this->events_of( $health( 1 ) ) );
		$this->assertCount( 1, $this->events_of( $health( 3 ) ) );
	}

	public function test_failed_email_creates_an_event_without_its_text(): void {
		$this->enable( 'mail_failed' );
		$events = $this->events_of(
			static fn() => do_action( 'wp_mail_failed', new WP_Error( 'wp_mail_failed', 'Could not connect', array( 'to' => array( 'ada@example.com' ), 'subject' => 'Password reset', 'message' => 'Click https://example.com/?key=abc' ) ) )
		);
		$this->assertSame( array( 'Email not sent: Password reset', "To: ada@example.com\nCould not connect" ), array( $events[0]['title'], $events[0]['body'] ) );
		$this->assertStringNotContainsString( 'Click', wp_json_encode( $events ) );
	}

	public function test_all_fields_of_a_form_with_a_field_called_name_are_rendered(): void {
		$fields = array(
			array( 'name' => 'name', 'value' => 'Ada' ),
			array( 'name' => 'message', 'value' => 'Two cups of tea' ),
		);
		$arguments = array( 'fields' => Tocsin_Forms::wpforms( array( $fields ) )['fields'] );
		$this->assertSame( "Name: Ada\nMessage: Two cups of tea", Tocsin_Text::body( '{fields}', ( new Tocsin_Arguments() )->describe( $arguments ) ) );
	}

	public function test_submitted_forms_create_events_with_their_fields(): void {
		add_filter( 'tocsin_active_plugin_identifiers', static fn( $slugs ) => array_merge( $slugs, array( 'wpforms', 'gravityforms', 'contact-form-7' ) ) );
		$this->enable( 'wpforms_sent', 'gravity_forms_sent', 'contact_form_7_sent' );
		$events = $this->events_of(
			static function () {
				$fields = array(
					1 => array( 'name' => 'Name', 'value' => 'Ada', 'type' => 'text' ),
					2 => array( 'name' => 'Choose', 'value' => 'hunter2', 'type' => 'password' ),
					3 => array( 'name' => 'Name', 'value' => 'Lovelace', 'type' => 'text' ),
				);
				do_action( 'wpforms_process_complete', $fields, array(), array( 'settings' => array( 'form_title' => 'Booking' ) ), 5 );
				do_action( 'gform_after_submission', array( '1' => 'Tea', 'source_url' => 'https://example.com/tea' ), array( 'title' => 'Order', 'fields' => array( (object) array( 'id' => 1, 'label' => 'Drink', 'type' => 'text' ) ) ) );
				do_action( 'wpcf7_mail_sent', new class() {
					public function title() {
						return 'Contact';
					}
				} );
				// Unexpected arguments of another version must not break the site.
				do_action( 'wpforms_process_complete', 'x', null, 7 );
				do_action( 'gform_after_submission' );
			}
		);
		$this->assertSame( array( 'Form: Booking', 'Form: Order', 'Form: Contact' ), array_slice( array_column( $events, 'title' ), 0, 3 ) );
		$this->assertSame( "Name: Ada\nName (3): Lovelace", $events[0]['body'] );
		$this->assertSame( "Drink: Tea\nhttps://example.com/tea", $events[1]['body'] );
		$this->assertStringNotContainsString( 'hunter2', wp_json_encode( $events ) );
	}
}
