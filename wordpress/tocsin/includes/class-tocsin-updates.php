<?php
/**
 * Available and installed updates.
 *
 * @package Tocsin
 */

declare( strict_types=1 );

defined( 'ABSPATH' ) || exit;

/**
 * Reads the results of WordPress's update checks. WordPress checks several times a day; each version is reported once.
 */
final class Tocsin_Updates {
	const OPTION = 'tocsin_known_updates';

	/**
	 * Returns updates that have not been reported yet, such as "Akismet 5.3", and marks them as reported.
	 *
	 * @param string $kind  One of core, plugins, themes.
	 * @param mixed  $found The transient with the result of the update check.
	 * @return string[]
	 */
	public static function new_updates( string $kind, $found ): array {
		$offers = is_object( $found ) ? ( 'core' === $kind ? ( $found->updates ?? null ) : ( $found->response ?? null ) ) : null;
		// Before the check WordPress saves the transient with the time only, without a list.
		if ( ! is_array( $offers ) ) {
			return array();
		}
		$current  = 'core' === $kind ? self::core( $offers ) : self::plugins_or_themes( $kind, $offers );
		$known    = (array) get_option( self::OPTION, array() );
		$reported = (array) ( $known[ $kind ] ?? array() );
		if ( array_keys( $current ) !== $reported ) {
			update_option( self::OPTION, array( $kind => array_keys( $current ) ) + $known, false );
		}
		return array_values( array_diff_key( $current, array_flip( $reported ) ) );
	}

	/**
	 * Returns newer versions of WordPress.
	 *
	 * @param array $offers Updates offered by WordPress.
	 * @return string[] Names by version.
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
	 * Returns newer versions of plugins or themes.
	 *
	 * @param string $kind   Either plugins or themes.
	 * @param array  $offers Updates offered by WordPress, by file or folder.
	 * @return string[] Names by file or folder and version.
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
	 * Returns the plugins or themes that were updated.
	 *
	 * @param mixed $upgrade The second argument of upgrader_process_complete.
	 * @return array With updated (names with versions) and kind.
	 */
	public static function installed( $upgrade ): array {
		$upgrade = is_array( $upgrade ) ? $upgrade : array();
		$kind    = ( $upgrade['type'] ?? '' ) . 's';
		$updated = array();
		if ( 'update' === ( $upgrade['action'] ?? '' ) && in_array( $kind, array( 'plugins', 'themes' ), true ) ) {
			foreach ( array_filter( (array) ( $upgrade[ $kind ] ?? $upgrade[ $upgrade['type'] ] ?? array() ), 'is_string' ) as $part ) {
				$updated[] = trim( self::name( $kind, $part ) . ' ' . self::version( $kind, $part ) );
			}
		}
		return array(
			'updated' => $updated,
			'kind'    => $kind,
		);
	}

	/**
	 * Returns the name of a plugin or theme.
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
	 * Returns the installed version of a plugin or theme.
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
