<?php
/**
 * Admin notices.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Stores notices across one redirect, for the user who submitted the form.
 */
final class Tocsin_Admin_Notices {

	const SECONDS = 60;

	/**
	 * Stores a notice for the next page of this user.
	 *
	 * @param string   $kind  success, info, warning or error.
	 * @param string   $text  One sentence, plain text.
	 * @param string[] $lines Further lines, plain text.
	 */
	public static function add( string $kind, string $text, array $lines = array() ): void {
		$notices   = self::stored();
		$notices[] = array(
			'kind'  => $kind,
			'text'  => $text,
			'lines' => array_values( $lines ),
		);
		set_transient( self::name(), $notices, self::SECONDS );
	}

	/**
	 * Prints and deletes the stored notices.
	 */
	public static function render(): void {
		$notices = self::stored();
		if ( array() === $notices ) {
			return;
		}
		delete_transient( self::name() );
		foreach ( $notices as $notice ) {
			self::show( $notice['kind'], $notice['text'], $notice['lines'] );
		}
	}

	/**
	 * Prints a notice immediately.
	 *
	 * @param string   $kind           success, info, warning or error.
	 * @param string   $text           One sentence, plain text.
	 * @param string[] $lines          Further lines, plain text.
	 * @param bool     $is_dismissible Whether the user can dismiss it.
	 */
	public static function show( string $kind, string $text, array $lines = array(), bool $is_dismissible = true ): void {
		$is_urgent = in_array( $kind, array( 'error', 'warning' ), true );
		printf(
			'<div class="notice notice-%1$s %2$s" role="%3$s"><p><strong>%4$s</strong></p>',
			esc_attr( $kind ),
			esc_attr( $is_dismissible ? 'is-dismissible' : 'inline' ),
			esc_attr( $is_urgent ? 'alert' : 'status' ),
			esc_html( $text )
		);
		if ( 1 === count( $lines ) ) {
			echo '<p>' . esc_html( (string) reset( $lines ) ) . '</p>';
		} elseif ( array() !== $lines ) {
			echo '<ul class="tocsin-lines">';
			foreach ( $lines as $line ) {
				echo '<li>' . esc_html( $line ) . '</li>';
			}
			echo '</ul>';
		}
		echo '</div>';
	}

	/**
	 * Returns the stored notices of this user.
	 *
	 * @return array<int, array{kind: string, text: string, lines: string[]}>
	 */
	private static function stored(): array {
		$notices = get_transient( self::name() );
		return is_array( $notices ) ? $notices : array();
	}

	/**
	 * Returns the name of the transient: one per user and site.
	 */
	private static function name(): string {
		return 'tocsin_notices_' . get_current_user_id();
	}
}
