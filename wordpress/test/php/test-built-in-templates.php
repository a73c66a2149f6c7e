<?php
/**
 * The templates that come with the companion ring for what they say, and for nothing else.
 */

declare( strict_types=1 );

final class Test_Built_In_Templates extends Tocsin_Test_Case {

	/** @var Tocsin_Companion */
	private $companion;

	/** @var array[] */
	private $heard = array();

	protected function setUp(): void {
		parent::setUp();
		$this->companion = Tocsin_Companion::get_instance();
		$this->companion->queue()->flush();
	}

	private function switch_on( string ...$ids ): void {
		foreach ( $ids as $id ) {
			$this->assertTrue( $this->companion->settings()->save_template( $id, true ), $id );
		}
	}

	/**
	 * What rang while `$code` ran, oldest first.
	 */
	private function rings_of( callable $code ): array {
		$before = $this->events();
		$code();
		return array_values( array_diff_key( $this->events(), $before ) );
	}

	private function events(): array {
		$this->companion->queue()->flush();
		return array_column( array_reverse( $this->companion->queue()->list( array( 'per_page' => 100 ) ) ), null, 'id' );
	}

	public function test_every_text_speaks_only_of_what_its_template_knows(): void {
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

	public function test_templates_of_plugins_that_are_not_there_are_hidden(): void {
		$visible = fn() => array_keys( $this->companion->templates()->visible() );
		$before  = $visible();
		$this->assertContains( 'post_published', $before );
		add_filter( 'tocsin_active_plugin_identifiers', static fn( $slugs ) => array_merge( $slugs, array( 'wpforms-lite', 'woocommerce' ) ), -1 );
		$this->assertEqualsCanonicalizing(
			array( 'wpforms_sent', 'woocommerce_new_order', 'woocommerce_failed_order', 'woocommerce_cancelled_order', 'woocommerce_refund', 'woocommerce_low_stock', 'woocommerce_no_stock' ),
			array_values( array_diff( $visible(), $before ) )
		);
	}

	public function test_a_post_rings_when_it_is_published_and_not_when_it_is_saved_again(): void {
		$this->switch_on( 'post_published', 'post_trashed' );
		$id    = 0;
		$rings = $this->rings_of(
			static function () use ( &$id ) {
				$id = wp_insert_post( array( 'post_title' => 'About tea', 'post_status' => 'draft', 'post_author' => 1 ) );
				wp_publish_post( $id );
				wp_update_post( array( 'ID' => $id, 'post_title' => 'About green tea' ) );
				wp_insert_post( array( 'post_title' => 'A menu', 'post_type' => 'nav_menu_item', 'post_status' => 'publish' ) );
			}
		);
		$this->assertSame( array( 'Published: About tea' ), array_column( $rings, 'title' ) );
		// This way of publishing gives the post its own address only afterwards.
		$this->assertSame( "Post by admin\n" . home_url( '/?p=' . $id ), $rings[0]['body'] );
		$this->assertSame( array( 'Moved to the trash: About green tea' ), array_column( $this->rings_of( static fn() => wp_trash_post( $id ) ), 'title' ) );
	}

	public function test_comments_ring_by_what_is_to_be_done_and_spam_does_not(): void {
		$this->switch_on( 'comment_new', 'comment_pending' );
		$post  = wp_insert_post( array( 'post_title' => 'About tea' ) );
		$rings = $this->rings_of(
			static function () use ( $post ) {
				foreach ( array( 'Ada' => 1, 'Bob' => 0, 'Spammer' => 'spam' ) as $author => $approved ) {
					wp_insert_comment( array( 'comment_post_ID' => $post, 'comment_author' => $author, 'comment_content' => 'Nice', 'comment_approved' => $approved ) );
				}
				wp_insert_comment( array( 'comment_post_ID' => $post, 'comment_content' => 'A note of the shop', 'comment_type' => 'order_note', 'comment_approved' => 1 ) );
			}
		);
		$this->assertSame( array( 'Ada commented on About tea', 'Please moderate: Bob on About tea' ), array_column( $rings, 'title' ) );
	}

	public function test_users_ring_and_new_passwords_stay_here(): void {
		$this->switch_on( 'user_registered', 'role_changed', 'password_reset', 'administrator_login' );
		$rings = $this->rings_of(
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
		$this->assertSame( array( 'New user: ada', 'ada is now administrator', 'ada reset their password', 'Administrator ada logged in' ), array_column( $rings, 'title' ) );
		$this->assertSame( "ada (ada@example.com)\nRole: author", $rings[0]['body'] );
		$this->assertDoesNotMatchRegularExpression( '/secret-\d|\$P\$|\$wp\$|\$2y\$/', wp_json_encode( $rings, JSON_UNESCAPED_SLASHES ) );
	}

	public function test_failed_logins_ring_once_when_there_are_many(): void {
		$this->switch_on( 'failed_logins' );
		$fail = static function ( int $times, string $name ): callable {
			return static function () use ( $times, $name ) {
				for ( $i = 0; $i < $times; $i++ ) {
					do_action( 'wp_login_failed', $name, new WP_Error( 'incorrect_password', 'guess-' . $i ) );
				}
			};
		};
		$this->assertSame( array(), $this->rings_of( $fail( 9, 'admin' ) ) );
		$rings = $this->rings_of( $fail( 30, 'admin' ) );
		$this->assertSame( array( '10 failed logins within ten minutes' ), array_column( $rings, 'title' ) );
		$this->assertStringContainsString( 'Last user name: admin', $rings[0]['body'] );
		$this->assertStringNotContainsString( 'guess-', wp_json_encode( $rings ) );

		// An hour later somebody types a password where the name belongs.
		delete_transient( Tocsin_Failed_Logins::STATE );
		$rings = $this->rings_of( $fail( 10, 'correct horse battery' ) );
		$this->assertCount( 1, $rings );
		$this->assertStringNotContainsString( 'horse', wp_json_encode( $rings ) );
	}

	public function test_each_update_is_told_of_once(): void {
		$this->switch_on( 'update_plugins', 'update_core', 'updated' );
		$found = static function ( string $version ): object {
			return (object) array( 'last_checked' => time(), 'response' => array( 'tocsin/tocsin.php' => (object) array( 'new_version' => $version ) ) );
		};
		$rings = $this->rings_of(
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
			array_column( $rings, 'title' )
		);
	}

	public function test_site_health_rings_when_it_gets_worse(): void {
		$this->switch_on( 'site_health' );
		$health = static fn( int $critical ) => static fn() => set_transient( 'health-check-site-status-result', wp_json_encode( array( 'good' => 9, 'recommended' => 2, 'critical' => $critical ) ) );
		$this->assertSame( array( 'Site Health: 2 critical issues' ), array_column( $this->rings_of( $health( 2 ) ), 'title' ) );
		$this->assertSame( array(), $this->rings_of( $health( 1 ) ) );
		$this->assertCount( 1, $this->rings_of( $health( 3 ) ) );
	}

	public function test_a_mail_that_fails_rings_without_its_text(): void {
		$this->switch_on( 'mail_failed' );
		$rings = $this->rings_of(
			static fn() => do_action( 'wp_mail_failed', new WP_Error( 'wp_mail_failed', 'Could not connect', array( 'to' => array( 'ada@example.com' ), 'subject' => 'Password reset', 'message' => 'Click https://example.com/?key=abc' ) ) )
		);
		$this->assertSame( array( 'Email not sent: Password reset', "To: ada@example.com\nCould not connect" ), array( $rings[0]['title'], $rings[0]['body'] ) );
		$this->assertStringNotContainsString( 'Click', wp_json_encode( $rings ) );
	}

	public function test_a_form_with_a_field_called_name_is_told_whole(): void {
		$fields = array(
			array( 'name' => 'name', 'value' => 'Ada' ),
			array( 'name' => 'message', 'value' => 'Two cups of tea' ),
		);
		$told = array( 'fields' => Tocsin_Forms::wpforms( array( $fields ) )['fields'] );
		$this->assertSame( "Name: Ada\nMessage: Two cups of tea", Tocsin_Text::body( '{fields}', ( new Tocsin_Arguments() )->describe( $told ) ) );
	}

	public function test_forms_ring_with_what_visitors_wrote(): void {
		add_filter( 'tocsin_active_plugin_identifiers', static fn( $slugs ) => array_merge( $slugs, array( 'wpforms', 'gravityforms', 'contact-form-7' ) ) );
		$this->switch_on( 'wpforms_sent', 'gravity_forms_sent', 'contact_form_7_sent' );
		$rings = $this->rings_of(
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
				// A version that hands over something else must not break the site.
				do_action( 'wpforms_process_complete', 'x', null, 7 );
				do_action( 'gform_after_submission' );
			}
		);
		$this->assertSame( array( 'Form: Booking', 'Form: Order', 'Form: Contact' ), array_slice( array_column( $rings, 'title' ), 0, 3 ) );
		$this->assertSame( "Name: Ada\nName (3): Lovelace", $rings[0]['body'] );
		$this->assertSame( "Drink: Tea\nhttps://example.com/tea", $rings[1]['body'] );
		$this->assertStringNotContainsString( 'hunter2', wp_json_encode( $rings ) );
	}
}
