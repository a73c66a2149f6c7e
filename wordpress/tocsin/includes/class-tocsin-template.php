<?php
/**
 * Template.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * A validated template. Created only by from_array(), so that an instance is always valid.
 */
final class Tocsin_Template {
	const SEVERITIES = array( '', 'info', 'warning', 'error', 'critical' );
	const CATEGORIES = array( 'info', 'task', 'promo' );

	/**
	 * All fields, with defaults applied.
	 *
	 * @var array
	 */
	private array $fields;

	/**
	 * Use from_array().
	 *
	 * @param array $fields Validated fields, with defaults applied.
	 */
	private function __construct( array $fields ) {
		$this->fields = $fields;
	}

	/**
	 * Validates fields and applies defaults.
	 *
	 * @param mixed $given Fields as passed by a plugin.
	 * @throws InvalidArgumentException Names the invalid field and the expected value.
	 */
	public static function from_array( $given ): self {
		return new self( Tocsin_Template_Validator::validate( $given ) );
	}

	/**
	 * Whether two templates are equal, so that registering one twice is allowed. Callbacks are ignored, because PHP cannot compare closures.
	 *
	 * @param self $other The other template.
	 */
	public function equals( self $other ): bool {
		$callbacks = array(
			'condition' => 0,
			'map'       => 0,
		);
		return array_diff_key( $this->fields, $callbacks ) === array_diff_key( $other->fields, $callbacks );
	}

	/**
	 * Returns the identifier used in settings and log.
	 */
	public function id(): string {
		return $this->fields['id'];
	}

	/**
	 * Returns the class name of the dashicon.
	 */
	public function icon(): string {
		return $this->fields['icon'];
	}

	/**
	 * Returns the name in the list of templates.
	 */
	public function title(): string {
		return $this->fields['title'];
	}

	/**
	 * Returns the name of the hook.
	 */
	public function hook_name(): string {
		return $this->fields['hook_name'];
	}

	/**
	 * Returns the sentence that says when the notification is sent.
	 */
	public function description(): string {
		return $this->fields['description'];
	}

	/**
	 * Returns the group in the list of templates; may be empty.
	 */
	public function scenario_name(): string {
		return $this->fields['scenario_name'];
	}

	/**
	 * Returns the slug of the required plugin; may be empty.
	 */
	public function required_plugin(): string {
		return $this->fields['required_plugin'];
	}

	/**
	 * Returns the human-readable name of the hook.
	 */
	public function label(): string {
		return $this->fields['label'];
	}

	/**
	 * Returns the type of the hook: action or filter.
	 */
	public function type(): string {
		return $this->fields['type'];
	}

	/**
	 * Returns the names of the hook's arguments, in order.
	 *
	 * @return string[]
	 */
	public function arg_names(): array {
		return $this->fields['arg_names'];
	}

	/**
	 * Returns the number of arguments to send.
	 */
	public function payload_arity(): int {
		return $this->fields['payload_arity'];
	}

	/**
	 * Returns the number of arguments to accept from the hook. At least one: a filter must return its value.
	 */
	public function accepted_args(): int {
		return max( 1, $this->payload_arity(), count( $this->arg_names() ) );
	}

	/**
	 * Returns the default texts, severity and category.
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
	 * Whether the template is enabled by default.
	 */
	public function is_enabled_by_default(): bool {
		return $this->fields['enabled'];
	}

	/**
	 * Returns the hook's arguments by name, or the result of `map`.
	 *
	 * @param array $args The arguments in order; may be fewer than the template declares.
	 */
	public function named_args( array $args ): array {
		if ( null !== $this->fields['map'] ) {
			$mapped = call_user_func( $this->fields['map'], $args );
			// Casting an object to an array would expose its private properties.
			return is_array( $mapped ) ? $mapped : array( $this->arg_name( 0 ) => $mapped );
		}
		$named = array();
		// Secrets are recognized by name, and hooks about passwords or cookies pass secrets, so their unnamed arguments are omitted.
		$count = Tocsin_Redactor::is_secret_name( $this->hook_name() ) ? min( $this->payload_arity(), count( $this->arg_names() ) ) : $this->payload_arity();
		foreach ( array_slice( array_values( $args ), 0, $count ) as $position => $value ) {
			$named[ $this->arg_name( $position ) ] = $value;
		}
		return $named;
	}

	/**
	 * Returns the name of an argument.
	 *
	 * @param int $position Position, from 0.
	 */
	private function arg_name( int $position ): string {
		return $this->arg_names()[ $position ] ?? 'arg_' . ( $position + 1 );
	}

	/**
	 * Whether the condition of the template is met.
	 *
	 * @param array $named Return value of named_args().
	 */
	public function should_send( array $named ): bool {
		return null === $this->fields['condition'] || (bool) call_user_func( $this->fields['condition'], $named );
	}
}
