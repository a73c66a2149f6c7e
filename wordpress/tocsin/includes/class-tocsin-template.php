<?php
/**
 * One template.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * A template that was found valid. Made by from_array() only, so whoever holds one need not check it again.
 */
final class Tocsin_Template {
	const SEVERITIES = array( '', 'info', 'warning', 'error', 'critical' );
	const CATEGORIES = array( 'info', 'task', 'promo' );

	/**
	 * The fields, complete.
	 *
	 * @var array
	 */
	private array $fields;

	/**
	 * Use from_array().
	 *
	 * @param array $fields Valid fields, complete.
	 */
	private function __construct( array $fields ) {
		$this->fields = $fields;
	}

	/**
	 * Checks a template and fills in what was left out.
	 *
	 * @param mixed $given What another plugin handed over.
	 * @throws InvalidArgumentException Names the field and what is expected there.
	 */
	public static function from_array( $given ): self {
		return new self( Tocsin_Template_Validator::validate( $given ) );
	}

	/**
	 * Whether another template says the same, so that registering twice does no harm. Callbacks do not count: PHP cannot compare them.
	 *
	 * @param self $other The other.
	 */
	public function equals( self $other ): bool {
		$callbacks = array(
			'condition' => 0,
			'map'       => 0,
		);
		return array_diff_key( $this->fields, $callbacks ) === array_diff_key( $other->fields, $callbacks );
	}

	/**
	 * By what the settings and the log know it.
	 */
	public function id(): string {
		return $this->fields['id'];
	}

	/**
	 * A dashicon's class.
	 */
	public function icon(): string {
		return $this->fields['icon'];
	}

	/**
	 * What the owner sees in the list.
	 */
	public function title(): string {
		return $this->fields['title'];
	}

	/**
	 * The hook it listens to.
	 */
	public function hook_name(): string {
		return $this->fields['hook_name'];
	}

	/**
	 * When it rings, in a sentence.
	 */
	public function description(): string {
		return $this->fields['description'];
	}

	/**
	 * The group that it stands in; may be empty.
	 */
	public function scenario_name(): string {
		return $this->fields['scenario_name'];
	}

	/**
	 * The slug of the plugin without which it makes no sense; may be empty.
	 */
	public function required_plugin(): string {
		return $this->fields['required_plugin'];
	}

	/**
	 * What the hook is called in front of people.
	 */
	public function label(): string {
		return $this->fields['label'];
	}

	/**
	 * Either action or filter.
	 */
	public function type(): string {
		return $this->fields['type'];
	}

	/**
	 * The names of the hook's arguments, in their order.
	 *
	 * @return string[]
	 */
	public function arg_names(): array {
		return $this->fields['arg_names'];
	}

	/**
	 * How many of the hook's arguments go into the payload.
	 */
	public function payload_arity(): int {
		return $this->fields['payload_arity'];
	}

	/**
	 * How many arguments to ask WordPress for. One at least: a filter's value has to be handed on.
	 */
	public function accepted_args(): int {
		return max( 1, $this->payload_arity(), count( $this->arg_names() ) );
	}

	/**
	 * The texts and the rank that hold until the owner chooses others.
	 *
	 * @return array With title, body, severity and category.
	 */
	public function default_texts(): array {
		return array(
			'title'    => $this->fields['message_title'],
			'body'     => $this->fields['message_body'],
			'severity' => $this->fields['severity'],
			'category' => $this->fields['category'],
		);
	}

	/**
	 * Whether it is on until the owner chooses.
	 */
	public function is_enabled_by_default(): bool {
		return $this->fields['enabled'];
	}

	/**
	 * The hook's arguments by name, as they came; with `map`, what the template makes of them.
	 *
	 * @param array $args The arguments in their order; may be fewer than announced.
	 */
	public function named_args( array $args ): array {
		if ( null !== $this->fields['map'] ) {
			$mapped = call_user_func( $this->fields['map'], $args );
			// Not made an array of: that would lay an object open, with what it keeps to itself.
			return is_array( $mapped ) ? $mapped : array( $this->arg_name( 0 ) => $mapped );
		}
		$named = array();
		// Only a name can tell that an argument is a secret, and a hook that speaks of passwords or cookies hands one over.
		$most = Tocsin_Redactor::is_secret_name( $this->hook_name() ) ? min( $this->payload_arity(), count( $this->arg_names() ) ) : $this->payload_arity();
		foreach ( array_slice( array_values( $args ), 0, $most ) as $position => $value ) {
			$named[ $this->arg_name( $position ) ] = $value;
		}
		return $named;
	}

	/**
	 * By what name an argument goes.
	 *
	 * @param int $position Its place, from 0.
	 */
	private function arg_name( int $position ): string {
		return $this->arg_names()[ $position ] ?? 'arg_' . ( $position + 1 );
	}

	/**
	 * Whether this time is one to speak of.
	 *
	 * @param array $named What named() gave.
	 */
	public function should_send( array $named ): bool {
		return null === $this->fields['condition'] || (bool) call_user_func( $this->fields['condition'], $named );
	}
}
