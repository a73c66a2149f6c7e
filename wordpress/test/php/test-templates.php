<?php
/**
 * Templates of plugin authors: taken, refused, shown and attached.
 */

declare( strict_types=1 );

final class Test_Templates extends Tocsin_Test_Case {

	/** @var Tocsin_Templates */
	private $templates;

	/** @var Tocsin_Settings */
	private $settings;

	/** @var Tocsin_Queue */
	private $queue;

	protected function setUp(): void {
		parent::setUp();
		$this->templates = new Tocsin_Templates();
		$this->settings  = new Tocsin_Settings( $this->templates );
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
	 * What was heard since the last look, oldest first.
	 */
	private function heard(): array {
		$this->queue->flush();
		return array_reverse( array_column( $this->queue->list(), 'title' ) );
	}

	public function test_a_template_that_comes_late_listens_from_then_on(): void {
		do_action( 'test_sold', 'too early' );
		$this->assertTrue( $this->templates->register( $this->template() ) );
		do_action( 'test_sold', 'Tea', 3 );
		$this->assertSame( array( 'Tea sold' ), $this->heard() );
	}

	public function test_registering_the_same_twice_rings_once_and_another_with_its_id_is_refused(): void {
		$this->assertTrue( $this->templates->register( $this->template() ) );
		$this->assertTrue( $this->templates->register( $this->template() ) );
		$wrongs = $this->wrongs_of( fn() => $this->assertFalse( $this->templates->register( $this->template( array( 'title' => 'Other' ) ) ) ) );
		$this->assertStringContainsString( 'id', $wrongs[0] );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Tea sold' ), $this->heard() );
	}

	public function test_the_owner_switches_it_and_chooses_the_words(): void {
		$this->templates->register( $this->template( array( 'id' => 'sold', 'enabled' => false ) ) );
		do_action( 'test_sold', 'nobody listens' );
		$this->settings->save_template( 'sold', true, array( 'title' => 'Gone: {what}', 'severity' => 'error', 'category' => 'nonsense' ) );
		do_action( 'test_sold', 'Tea' );
		$this->settings->save_template( 'sold', false );
		do_action( 'test_sold', 'nobody listens' );
		$this->assertSame( array( 'Gone: Tea' ), $this->heard() );
		$this->assertSame( array( 'title' => '{what} sold', 'body' => '', 'severity' => '', 'category' => 'info' ), $this->settings->texts( 'sold' ) );
	}

	public function test_saving_what_the_form_shows_keeps_a_text_the_template_s_own(): void {
		$this->templates->register( $this->template( array( 'id' => 'sold', 'message_title' => "{what}  sold\tnow" ) ) );
		$this->settings->save_template( 'sold', true, $this->settings->texts( 'sold' ) );
		$this->assertSame( array( 'sold' => array( 'on' => true ) ), get_option( Tocsin_Settings::TEMPLATES ) );
	}

	public function test_a_template_cannot_listen_to_every_hook_there_is(): void {
		$wrongs = $this->wrongs_of( fn() => $this->assertFalse( $this->templates->register( $this->template( array( 'hook_name' => 'all' ) ) ) ) );
		$this->assertStringContainsString( 'hook_name must be a single hook', $wrongs[0] );
	}

	public function test_a_filter_is_heard_with_the_value_that_all_others_left(): void {
		$this->templates->register( $this->template( array( 'hook_meta' => array( 'type' => 'filter', 'arg_names' => array( 'what' ) ) ) ) );
		add_filter( 'test_sold', fn( $value ) => $value . '!', 99999 );
		$this->assertSame( 'Tea!', apply_filters( 'test_sold', 'Tea', 'context' ) );
		$this->assertSame( array( 'Tea! sold' ), $this->heard() );
	}

	public function test_a_filter_keeps_its_value_when_its_template_throws(): void {
		foreach ( array( 'map', 'condition' ) as $field ) {
			$throw = static function () {
				throw new Error( 'a mistake' );
			};
			$this->templates->register( $this->template( array( 'id' => $field, $field => $throw, 'hook_meta' => array( 'type' => 'filter', 'payload_arity' => 0 ) ) ) );
		}
		$logged = ini_set( 'error_log', '/dev/null' );
		$value  = new stdClass();
		$this->assertSame( $value, apply_filters( 'test_sold', $value, 'context' ) );
		ini_set( 'error_log', $logged );
		$this->assertSame( array(), $this->heard() );
	}

	public function test_misspelt_fields_are_named_and_do_no_harm(): void {
		$wrongs = $this->wrongs_of( fn() => $this->assertTrue( $this->templates->register( $this->template( array( 'message_titel' => 'x', 'hook_meta' => array( 'argnames' => array() ) ) ) ) ) );
		$this->assertCount( 2, $wrongs );
		$this->assertStringContainsString( 'message_titel', $wrongs[0] );
		$this->assertStringContainsString( 'hook_meta.argnames', $wrongs[1] );
	}

	public function test_a_plugin_that_fails_to_register_does_not_keep_others_from_it(): void {
		remove_all_actions( 'tocsin_register_templates' );
		$removed = static function () {
			throw new Error( 'was to be removed' );
		};
		add_action(
			'tocsin_register_templates',
			static function () use ( $removed ) {
				remove_action( 'tocsin_register_templates', $removed, 30 );
				throw new Error( 'a mistake' );
			}
		);
		add_action( 'tocsin_register_templates', fn() => $this->templates->register( $this->template() ), 20 );
		add_action( 'tocsin_register_templates', $removed, 30 );
		$wrongs = $this->wrongs_of(
			function () {
				$this->templates->collect();
				$this->templates->collect();
			}
		);
		$this->assertCount( 1, $wrongs, 'each runs once' );
		$this->assertStringContainsString( 'a mistake', $wrongs[0] );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Tea sold' ), $this->heard() );
	}

	public function test_a_title_of_which_nothing_is_left_is_that_of_the_template(): void {
		$this->templates->register( $this->template( array( 'message_title' => '{nothing}' ) ) );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Sold' ), $this->heard() );
	}

	public function test_an_argument_may_have_any_name(): void {
		$this->templates->register( $this->template( array( 'message_title' => 'x', 'hook_meta' => array( 'arg_names' => array( 'site', 'hook' ) ) ) ) );
		do_action( 'test_sold', array( 'deep' => 1 ), 'fish' );
		$this->queue->flush();
		$sent = Tocsin_Client::notification( $this->queue->list()[0] );
		$this->assertSame( array( '127.0.0.1', array( 'deep' => 1 ), 'fish' ), array( $sent['source'], $sent['payload']['site'], $sent['payload']['hook'] ) );
	}

	public function test_what_describing_sets_off_is_no_news(): void {
		$again = static function () {
			do_action( 'test_sold', 'inner' );
			return true;
		};
		$this->templates->register( $this->template( array( 'condition' => $again ) ) );
		do_action( 'test_sold', 'outer' );
		$this->assertSame( array( 'outer sold' ), $this->heard() );
	}

	public function test_more_arguments_than_names_get_a_number(): void {
		$template = Tocsin_Template::from_array( $this->template( array( 'hook_meta' => array( 'arg_names' => array( 'what' ), 'payload_arity' => 2 ) ) ) );
		$this->assertSame( array( 'what' => 'Tea', 'arg_2' => 3 ), $template->named_args( array( 'Tea', 3, 'not asked for' ) ) );
	}

	public function test_no_more_arguments_go_along_than_the_template_says(): void {
		$template = Tocsin_Template::from_array( $this->template( array( 'hook_meta' => array( 'arg_names' => array( 'what', 'buyer' ), 'payload_arity' => 1 ) ) ) );
		$this->assertSame( array( 'what' => 'Tea' ), $template->named_args( array( 'Tea', 'Ada' ) ) );
	}

	public function test_of_a_hook_about_passwords_only_arguments_with_a_name_go_along(): void {
		$template = Tocsin_Template::from_array( $this->template( array( 'hook_name' => 'after_password_reset', 'hook_meta' => array( 'arg_names' => array( 'user' ), 'payload_arity' => 2 ) ) ) );
		$this->assertSame( array( 'user' => 'Ada' ), $template->named_args( array( 'Ada', 'the new password' ) ) );
	}

	public function test_a_thing_that_map_returns_by_itself_is_not_laid_open(): void {
		$user     = get_userdata( 1 );
		$template = Tocsin_Template::from_array( $this->template( array( 'map' => static fn() => $user ) ) );
		$this->assertSame( array( 'what' => $user ), $template->named_args( array( 1 ) ) );
	}

	public function test_a_plugin_that_fails_while_registering_does_no_harm_to_others(): void {
		add_action(
			'tocsin_register_templates',
			function () {
				$this->templates->register( $this->template() );
				throw new Error( 'a mistake' );
			}
		);
		$this->assertCount( 1, $this->wrongs_of( array( $this->templates, 'collect' ) ) );
		do_action( 'test_sold', 'Tea' );
		$this->assertSame( array( 'Tea sold' ), $this->heard() );
	}

	public function test_a_filter_of_active_plugins_that_returns_nonsense_is_ignored(): void {
		add_filter( 'tocsin_active_plugin_identifiers', '__return_null' );
		$this->assertContains( 'tocsin', $this->templates->active_plugins() );
	}
}
