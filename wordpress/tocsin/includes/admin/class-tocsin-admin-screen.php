<?php
/**
 * Interface of an admin screen.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * A screen in wp-admin with its forms.
 */
interface Tocsin_Admin_Screen {

	/**
	 * Name of the screen in menu and heading.
	 */
	public function name(): string;

	/**
	 * Adds screen options. Called before any output.
	 */
	public function load(): void;

	/**
	 * Prints the screen, with all values escaped.
	 */
	public function render(): void;

	/**
	 * Handlers of the forms, by name of the admin-post action. Nonce and capability are checked before they run.
	 *
	 * @return array<string, callable(): void>
	 */
	public function actions(): array;
}
