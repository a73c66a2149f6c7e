<?php
/**
 * Example events.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Creates an event with sample values, marked as an example.
 */
final class Tocsin_Admin_Example {

	/**
	 * Placeholders that are available in every template; Tocsin_Text provides their values.
	 */
	const SITE_PLACEHOLDERS = array( 'site_name', 'site_url', 'site_host', 'date', 'time' );

	/**
	 * Returns an example event for the queue.
	 *
	 * @param Tocsin_Template       $template The template.
	 * @param array<string, string> $texts    Saved texts of the template.
	 * @return array<string, mixed>
	 */
	public static function event( Tocsin_Template $template, array $texts ): array {
		$values = self::sample_values( array_merge( self::placeholders( $template ), self::placeholders_in( $texts ) ) );
		return array(
			'template_id' => $template->id(),
			/* translators: %s: title of a notification. */
			'title'       => Tocsin_Text::title( sprintf( __( 'Example: %s', 'tocsin' ), $texts['title'] ), $values ),
			'body'        => Tocsin_Text::body( $texts['body'], $values ),
			'severity'    => $texts['severity'],
			'category'    => $texts['category'],
			'payload'     => array( 'example' => true ) + $values + array(
				'template' => $template->id(),
				'scenario' => $template->scenario_name(),
				'hook'     => $template->hook_name(),
				'site'     => home_url(),
			),
			'occurred_at' => (int) floor( microtime( true ) * 1000 ),
		);
	}

	/**
	 * Returns the placeholders of a template: those in its default texts, its arguments, and those of the site.
	 *
	 * @param Tocsin_Template $template The template.
	 * @return string[]
	 */
	public static function placeholders( Tocsin_Template $template ): array {
		return array_values( array_unique( array_merge( self::placeholders_in( $template->default_texts() ), $template->arg_names(), self::SITE_PLACEHOLDERS ) ) );
	}

	/**
	 * Returns the placeholders in title and body.
	 *
	 * @param array<string, string> $texts Texts of a template.
	 * @return string[]
	 */
	private static function placeholders_in( array $texts ): array {
		preg_match_all( '/\{([A-Za-z0-9_][A-Za-z0-9_ \-]*(?:\.[A-Za-z0-9_ \-]+)*)\}/', $texts['title'] . ' ' . $texts['body'], $used );
		return $used[1];
	}

	/**
	 * Returns sample values, nested according to the dots in placeholders.
	 *
	 * @param string[] $placeholders Names of placeholders.
	 * @return array<string, mixed>
	 */
	private static function sample_values( array $placeholders ): array {
		// Nested placeholders first: {post.title} takes precedence over {post}.
		usort( $placeholders, static fn( string $a, string $b ): int => substr_count( $b, '.' ) <=> substr_count( $a, '.' ) );
		$values = array();
		foreach ( array_diff( $placeholders, self::SITE_PLACEHOLDERS ) as $name ) {
			$place = &$values;
			foreach ( explode( '.', $name ) as $step ) {
				$place = &$place[ $step ];
			}
			$place = $place ?? self::sample_value( $name );
			unset( $place );
		}
		return $values;
	}

	/**
	 * Returns a sample value for a placeholder.
	 *
	 * @param string $name Name of the placeholder.
	 */
	private static function sample_value( string $name ): string {
		$parts = explode( '.', $name );
		$last  = (string) end( $parts );
		if ( 1 === preg_match( '/(^|_)(url|link)$/', $last ) ) {
			return home_url( '/example/' );
		}
		if ( 1 === preg_match( '/(^|_)email$/', $last ) ) {
			return 'someone@example.com';
		}
		if ( 1 === preg_match( '/(^|_)(id|number|count|quantity|stock)$/', $last ) ) {
			return '42';
		}
		/* translators: %s: name of a placeholder, such as "post title". */
		return sprintf( __( '[%s]', 'tocsin' ), str_replace( array( '.', '_', '-' ), ' ', $name ) );
	}
}
