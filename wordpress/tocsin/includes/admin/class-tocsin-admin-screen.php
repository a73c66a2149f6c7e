<?php
/**
 * What the menu needs from a screen.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * One screen of wp-admin with the forms on it.
 */
interface Tocsin_Admin_Screen {

	/**
	 * Its name in menu and heading.
	 */
	public function name(): string;

	/**
	 * Before anything is printed: screen options.
	 */
	public function load(): void;

	/**
	 * Prints it, everything escaped.
	 */
	public function render(): void;

	/**
	 * What its forms do, by the name of the admin-post action. Nonce and capability have been checked by then.
	 *
	 * @return array<string, callable(): void>
	 */
	public function actions(): array;
}
