<?php
/**
 * Help tabs.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * Texts of the help tabs.
 */
final class Tocsin_Admin_Help {

	/**
	 * Returns the tabs by id. The content is escaped HTML.
	 *
	 * @return array<string, array{title: string, content: string}>
	 */
	public static function tabs(): array {
		return array(
			'connection' => array(
				'title'   => __( 'Connection', 'tocsin' ),
				'content' => self::paragraphs(
					__( 'Create a key of the type "Public client" on the page "Keys" in the inbox of your Tocsin gateway. Paste it here together with the address from the curl command shown with it, save, and send a monitoring check.', 'tocsin' ),
					__( 'The key is stored encrypted with the salts of this site and is never shown again. If the salts in wp-config.php change, enter the key again.', 'tocsin' ),
					__( 'The key is sent only to the server that it was entered for. If the scheme, host or port of the address changes, enter the key again.', 'tocsin' ),
					__( 'The constants TOCSIN_URL and TOCSIN_KEY in wp-config.php override the settings saved here. A key from wp-config.php is sent only to an address from wp-config.php.', 'tocsin' )
				),
			),
			'templates'  => array(
				'title'   => __( 'Templates', 'tocsin' ),
				'content' => self::paragraphs(
					__( 'A template listens to one hook of WordPress or of a plugin. While it is enabled, each event becomes a notification.', 'tocsin' ),
					__( 'Placeholders in braces, such as {site_name}, are replaced by values of the event. A placeholder without a value is removed.', 'tocsin' ),
					__( 'Templates of a plugin are shown only while that plugin is active. Their settings are kept while it is inactive.', 'tocsin' )
				),
			),
			'log'        => array(
				'title'   => __( 'Log', 'tocsin' ),
				'content' => self::paragraphs(
					__( 'Events are queued first and sent after the page has been delivered, so visitors never wait for the gateway.', 'tocsin' ),
					__( 'Events that could not be sent are retried for 24 hours, with delays from seconds to hours. After that they are marked as failed. "Send again" restarts the retries.', 'tocsin' )
				),
			),
		);
	}

	/**
	 * Converts plain texts to HTML paragraphs.
	 *
	 * @param string ...$texts One text per paragraph.
	 */
	private static function paragraphs( string ...$texts ): string {
		return '<p>' . implode( '</p><p>', array_map( 'esc_html', $texts ) ) . '</p>';
	}
}
