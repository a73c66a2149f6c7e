<?php
/**
 * Updates.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Reads what WordPress keeps about updates. It looks several times a day; each version is told of once.
 */
final class Tocsin_Updates {
	const OPTION = 'tocsin_known_updates';

	/**
	 * The updates that were not told of yet, as texts such as "Akismet 5.3". They count as told from now on.
	 *
	 * @param string $kind  One of core, plugins, themes.
	 * @param mixed  $found The transient that WordPress keeps about them.
	 * @return string[]
	 */
	public static function new_updates( string $kind, $found ): array {
		$offers = is_object( $found ) ? ( 'core' === $kind ? ( $found->updates ?? null ) : ( $found->response ?? null ) ) : null;
		// WordPress notes the time before it asks; there is no list then.
		if ( ! is_array( $offers ) ) {
			return array();
		}
		$current = 'core' === $kind ? self::core( $offers ) : self::plugins_or_themes( $kind, $offers );
		$known   = (array) get_option( self::OPTION, array() );
		$told    = (array) ( $known[ $kind ] ?? array() );
		if ( array_keys( $current ) !== $told ) {
			update_option( self::OPTION, array( $kind => array_keys( $current ) ) + $known, false );
		}
		return array_values( array_diff_key( $current, array_flip( $told ) ) );
	}

	/**
	 * Newer versions of WordPress.
	 *
	 * @param array $offers What WordPress found.
	 * @return string[] Texts by version.
	 */
	private static function core( array $offers ): array {
		$versions = array();
		foreach ( $offers as $offer ) {
			if ( is_object( $offer ) && 'upgrade' === ( $offer->response ?? '' ) && is_string( $offer->current ?? null ) ) {
				$versions[ 'v' . $offer->current ] = 'WordPress ' . $offer->current;
			}
		}
		return $versions;
	}

	/**
	 * Newer versions of plugins or themes.
	 *
	 * @param string $kind   Either plugins or themes.
	 * @param array  $offers What WordPress found, by file or folder.
	 * @return string[] Texts by file or folder and version.
	 */
	private static function plugins_or_themes( string $kind, array $offers ): array {
		$versions = array();
		foreach ( $offers as $part => $offer ) {
			$version = (string) ( ( (array) $offer )['new_version'] ?? '' );

			$versions[ $part . ' ' . $version ] = trim( self::name( $kind, (string) $part ) . ' ' . $version );
		}
		return $versions;
	}

	/**
	 * What was updated just now.
	 *
	 * @param mixed $done The second argument of upgrader_process_complete.
	 * @return array With updated (texts) and kind.
	 */
	public static function installed( $done ): array {
		$done = is_array( $done ) ? $done : array();
		$kind = ( $done['type'] ?? '' ) . 's';
		$said = array();
		if ( 'update' === ( $done['action'] ?? '' ) && in_array( $kind, array( 'plugins', 'themes' ), true ) ) {
			foreach ( array_filter( (array) ( $done[ $kind ] ?? $done[ $done['type'] ] ?? array() ), 'is_string' ) as $part ) {
				$said[] = trim( self::name( $kind, $part ) . ' ' . self::version( $kind, $part ) );
			}
		}
		return array(
			'updated' => $said,
			'kind'    => $kind,
		);
	}

	/**
	 * The name of a plugin or theme.
	 *
	 * @param string $kind Either plugins or themes.
	 * @param string $part A plugin's file or a theme's folder.
	 */
	private static function name( string $kind, string $part ): string {
		if ( 'plugins' === $kind ) {
			return Tocsin_Built_In_Templates::plugin_name( $part );
		}
		$name = (string) wp_get_theme( $part )->get( 'Name' );
		return '' === $name ? $part : $name;
	}

	/**
	 * The version that is installed.
	 *
	 * @param string $kind Either plugins or themes.
	 * @param string $part A plugin's file or a theme's folder.
	 */
	private static function version( string $kind, string $part ): string {
		if ( 'themes' === $kind ) {
			return (string) wp_get_theme( $part )->get( 'Version' );
		}
		$path = WP_PLUGIN_DIR . '/' . $part;
		return is_readable( $path ) ? get_file_data( $path, array( 'version' => 'Version' ) )['version'] : '';
	}
}
