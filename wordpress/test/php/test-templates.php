<?php
/**
 * Registration, validation, visibility and hooks of templates.
 */

declare( strict_types=1 );

final class Test_Templates extends Tocsin_Test_Case {

	/** @var Tocsin_Templates */
	private $templates;

	/** @var Tocsin_Template_Settings */
	private $settings;

	/** @var Tocsin_Queue */
	private $queue;

	protected function setUp(): void {
		parent::setUp();
		$this->templates = new Tocsin_Templates();
		$this->settings  = new Tocsin_Template_Settings( $this->templates );
		$this->queue     = new Tocsin_Queue();
		( new Tocsin_Listener( $this->templates, $this->settings, $this->queue ) )->boot();
	}

	private function template( array $more = array() ): array {
		return $more + array(
			'title'         => 'Sold',
			'hook_name'     => 'test_sold',
			'enabled'       => true,
			'message_title' => '{what} sold',
			'hook_meta'     => array( 'arg_names' => array( 'what', 'price' ) ),
		);
	}

	/**
	 * Returns the titles of queued events, oldest first.
	 */
	private function queued_titles(): array {
		$this->queue->flush();
		return array_reverse( array_column( $this->queue->list(), 'title' ) );
	}

	public function test_template_registered_late_listens_from_then_on(): void {
		do_action( 'test_sold', 'too early' );
		$this->assertTrue( $this->templates->register( $this->template() ) );
		do_action( 'test_sold', 'Tea', 3 );
		$this->assertSame( array( 'Tea sold' ), $this->queued_titles() );
	}

	public function test_registering_twice_sends_once_and_a_different_template_with_the_same_id_is_rejected(): void {
		$this->assertTrue( $this->templates->register( $this->template() ) );
		$this->assertTrue( $this->templates->register( $this->template() ) );
		$notices = $this->notices_of( fn() => $this->assertFalse( $this->templates->register( $this->template( array( 'title' => 'Other' ) ) ) ) );
		$this->assertStringContainsString( 'id', $notices[0] );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Tea sold' ), $this->queued_titles() );
	}

	public function test_template_can_be_enabled_and_disabled_and_its_texts_changed(): void {
		$this->templates->register( $this->template( array( 'id' => 'sold', 'enabled' => false ) ) );
		do_action( 'test_sold', 'while disabled' );
		$this->settings->save( 'sold', true, array( 'title' => 'Sold out: {what}', 'severity' => 'error', 'category' => 'nonsense' ) );
		do_action( 'test_sold', 'Tea' );
		$this->settings->save( 'sold', false );
		do_action( 'test_sold', 'while disabled' );
		$this->assertSame( array( 'Sold out: Tea' ), $this->queued_titles() );
		$this->assertSame( array( 'title' => '{what} sold', 'body' => '', 'severity' => '', 'category' => 'info' ), $this->settings->texts( 'sold' ) );
	}

	public function test_saving_unchanged_texts_keeps_the_defaults(): void {
		$this->templates->register( $this->template( array( 'id' => 'sold', 'message_title' => "{what}  sold\tnow" ) ) );
		$this->settings->save( 'sold', true, $this->settings->texts( 'sold' ) );
		$this->assertSame( array( 'sold' => array( 'on' => true ) ), get_option( Tocsin_Template_Settings::OPTION ) );
	}

	public function test_template_cannot_listen_to_all_hooks(): void {
		$notices = $this->notices_of( fn() => $this->assertFalse( $this->templates->register( $this->template( array( 'hook_name' => 'all' ) ) ) ) );
		$this->assertStringContainsString( 'hook_name must be a single hook', $notices[0] );
	}

	public function test_template_of_a_filter_receives_the_final_value(): void {
		$this->templates->register( $this->template( array( 'hook_meta' => array( 'type' => 'filter', 'arg_names' => array( 'what' ) ) ) ) );
		add_filter( 'test_sold', fn( $value ) => $value . '!', 99999 );
		$this->assertSame( 'Tea!', apply_filters( 'test_sold', 'Tea', 'context' ) );
		$this->assertSame( array( 'Tea! sold' ), $this->queued_titles() );
	}

	public function test_filter_keeps_its_value_if_its_template_throws(): void {
		foreach ( array( 'map', 'condition' ) as $field ) {
			$throw = static function () {
				throw new Error( 'a bug' );
			};
			$this->templates->register( $this->template( array( 'id' => $field, $field => $throw, 'hook_meta' => array( 'type' => 'filter', 'payload_arity' => 0 ) ) ) );
		}
		$logged = ini_set( 'error_log', '/dev/null' );
		$value  = new stdClass();
		$this->assertSame( $value, apply_filters( 'test_sold', $value, 'context' ) );
		ini_set( 'error_log', $logged );
		$this->assertSame( array(), $this->queued_titles() );
	}

	public function test_unknown_fields_are_reported_and_ignored(): void {
		$notices = $this->notices_of( fn() => $this->assertTrue( $this->templates->register( $this->template( array( 'message_titel' => 'x', 'hook_meta' => array( 'argnames' => array() ) ) ) ) ) );
		$this->assertCount( 2, $notices );
		$this->assertStringContainsString( 'message_titel', $notices[0] );
		$this->assertStringContainsString( 'hook_meta.argnames', $notices[1] );
	}

	public function test_exception_during_registration_does_not_prevent_other_callbacks(): void {
		remove_all_actions( 'tocsin_register_templates' );
		$removed = static function () {
			throw new Error( 'should have been removed' );
		};
		add_action(
			'tocsin_register_templates',
			static function () use ( $removed ) {
				remove_action( 'tocsin_register_templates', $removed, 30 );
				throw new Error( 'a bug' );
			}
		);
		add_action( 'tocsin_register_templates', fn() => $this->templates->register( $this->template() ), 20 );
		add_action( 'tocsin_register_templates', $removed, 30 );
		$notices = $this->notices_of(
			function () {
				$this->templates->collect();
				$this->templates->collect();
			}
		);
		$this->assertCount( 1, $notices, 'each callback runs once' );
		$this->assertStringContainsString( 'a bug', $notices[0] );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Tea sold' ), $this->queued_titles() );
	}

	public function test_empty_title_falls_back_to_the_title_of_the_template(): void {
		$this->templates->register( $this->template( array( 'message_title' => '{nothing}' ) ) );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Sold' ), $this->queued_titles() );
	}

	public function test_argument_names_may_equal_payload_fields(): void {
		$this->templates->register( $this->template( array( 'message_title' => 'x', 'hook_meta' => array( 'arg_names' => array( 'site', 'hook' ) ) ) ) );
		do_action( 'test_sold', array( 'deep' => 1 ), 'fish' );
		$this->queue->flush();
		$sent = Tocsin_Client::notification( $this->queue->list()[0] );
		$this->assertSame( array( '127.0.0.1', array( 'deep' => 1 ), 'fish' ), array( $sent['source'], $sent['payload']['site'], $sent['payload']['hook'] ) );
	}

	public function test_hooks_fired_while_handling_an_event_create_no_events(): void {
		$again = static function () {
			do_action( 'test_sold', 'inner' );
			return true;
		};
		$this->templates->register( $this->template( array( 'condition' => $again ) ) );
		do_action( 'test_sold', 'outer' );
		$this->assertSame( array( 'outer sold' ), $this->queued_titles() );
	}

	public function test_arguments_without_a_name_are_numbered(): void {
		$template = Tocsin_Template::from_array( $this->template( array( 'hook_meta' => array( 'arg_names' => array( 'what' ), 'payload_arity' => 2 ) ) ) );
		$this->assertSame( array( 'what' => 'Tea', 'arg_2' => 3 ), $template->named_args( array( 'Tea', 3, 'not asked for' ) ) );
	}

	public function test_arguments_are_limited_to_the_payload_arity(): void {
		$template = Tocsin_Template::from_array( $this->template( array( 'hook_meta' => array( 'arg_names' => array( 'what', 'buyer' ), 'payload_arity' => 1 ) ) ) );
		$this->assertSame( array( 'what' => 'Tea' ), $template->named_args( array( 'Tea', 'Ada' ) ) );
	}

	public function test_unnamed_arguments_of_a_hook_about_passwords_are_omitted(): void {
		$template = Tocsin_Template::from_array( $this->template( array( 'hook_name' => 'after_password_reset', 'hook_meta' => array( 'arg_names' => array( 'user' ), 'payload_arity' => 2 ) ) ) );
		$this->assertSame( array( 'user' => 'Ada' ), $template->named_args( array( 'Ada', 'the new password' ) ) );
	}

	public function test_object_returned_by_map_is_not_cast_to_an_array(): void {
		$user     = get_userdata( 1 );
		$template = Tocsin_Template::from_array( $this->template( array( 'map' => static fn() => $user ) ) );
		$this->assertSame( array( 'what' => $user ), $template->named_args( array( 1 ) ) );
	}

	public function test_templates_registered_before_an_exception_are_kept(): void {
		add_action(
			'tocsin_register_templates',
			function () {
				$this->templates->register( $this->template() );
				throw new Error( 'a bug' );
			}
		);
		$this->assertCount( 1, $this->notices_of( array( $this->templates, 'collect' ) ) );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Tea sold' ), $this->queued_titles() );
	}

	public function test_invalid_return_value_of_the_active_plugins_filter_is_ignored(): void {
		add_filter( 'tocsin_active_plugin_identifiers', '__return_null' );
		$this->assertContains( 'tocsin', $this->templates->active_plugins() );
	}
}
