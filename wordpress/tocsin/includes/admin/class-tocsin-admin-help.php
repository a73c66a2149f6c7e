<?php
/**
 * The texts of the help tab.
 *
 * @package Tocsin
 */

declare(strict_types=1);

defined( 'ABSPATH' ) || exit;

/**
 * What somebody wants to know who opens "Help".
 */
final class Tocsin_Admin_Help {

	/**
	 * The tabs, by id; the content is HTML and escaped.
	 *
	 * @return array<string, array{title: string, content: string}>
	 */
	public static function tabs(): array {
		return array(
			'connection' => array(
				'title'   => __( 'Connection', 'tocsin' ),
				'content' => self::paragraphs(
					__( 'Make a key in the inbox of your Tocsin gateway, on the page "Keys", of the type "Public client". Paste it here, with the address from the curl line that is shown along with it, save, and send a monitoring check.', 'tocsin' ),
					__( 'The key is kept encrypted with the salts of this site and is never shown again. When the salts in wp-config.php change, paste it once more.', 'tocsin' ),
					__( 'The key is sent only to the server that it was entered for. If the scheme, host or port of the address changes, enter the key again.', 'tocsin' ),
					__( 'The constants TOCSIN_URL and TOCSIN_KEY in wp-config.php win over what is saved here. A key from there is sent only to an address from there.', 'tocsin' )
				),
			),
			'templates'  => array(
				'title'   => __( 'Templates', 'tocsin' ),
				'content' => self::paragraphs(
					__( 'A template waits for one event of WordPress or of a plugin. Switch it on, and each such event becomes a notification.', 'tocsin' ),
					__( 'Words in braces, such as {site_name}, are replaced by what the event is about. A placeholder without a value becomes empty.', 'tocsin' ),
					__( 'Templates of a plugin appear while that plugin is active. Their settings are kept while it is not.', 'tocsin' )
				),
			),
			'log'        => array(
				'title'   => __( 'Log', 'tocsin' ),
				'content' => self::paragraphs(
					__( 'Every event is written down first and sent after the page has been delivered, so that no visitor waits for the gateway.', 'tocsin' ),
					__( 'What could not be sent is tried again, at first after seconds, later after hours. After 24 hours it is given up; "Send again" starts over.', 'tocsin' )
				),
			),
		);
	}

	/**
	 * Plain text as paragraphs.
	 *
	 * @param string ...$texts One for each paragraph.
	 */
	private static function paragraphs( string ...$texts ): string {
		return '<p>' . implode( '</p><p>', array_map( 'esc_html', $texts ) ) . '</p>';
	}
}
