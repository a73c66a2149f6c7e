// An ordinary week of a small site, for the pictures in the documentation.
import type { GatewayProcess } from '../../packages/gateway/test/support/gateway-process.ts';
import type { WordPressSite } from '../test/support/wordpress-site.ts';

const switchedOn = [
  'post_published',
  'comment_pending',
  'user_registered',
  'failed_logins',
  'fatal_error',
  'mail_failed',
];

const events = [
  { template: 'user_registered', title: 'New user: garden-club', minutesAgo: 3120, payload: { role: 'subscriber' } },
  {
    template: 'post_published',
    title: 'Published: Opening hours in winter',
    body: 'Page by editor',
    minutesAgo: 1102,
    payload: { post: { id: 41, title: 'Opening hours in winter', type: 'Page' } },
  },
  {
    template: 'failed_logins',
    title: '10 failed logins within 5 minutes',
    body: 'The last one was for the user name "admin".',
    severity: 'warning',
    minutesAgo: 410,
    payload: { user_name: 'admin', count: 10 },
  },
  {
    template: 'comment_pending',
    title: 'Please moderate: a comment on Hello world!',
    body: 'Is the workshop on Saturday also for beginners?',
    category: 'task',
    minutesAgo: 62,
    payload: { comment: { author: 'A visitor', post: 'Hello world!' } },
  },
  {
    template: 'post_published',
    title: 'Published: The new catalogue is here',
    body: 'Post by editor',
    minutesAgo: 18,
    payload: { post: { id: 44, title: 'The new catalogue is here', type: 'Post' } },
  },
];

/** Events that were sent, one that was given up, and one that waits. */
export async function fillLog(site: WordPressSite, gateway: GatewayProcess): Promise<void> {
  await site.php(
    `update_option( 'blogname', 'The little shop' );
    $companion = Tocsin_Companion::get_instance();
    $companion->settings()->save_url( $input['url'] );
    $companion->settings()->save_key( $input['key'] );
    foreach ( $companion->templates()->visible() as $template ) {
      if ( in_array( $template->id(), $input['on'], true ) ) {
        $companion->settings()->save_template( $template->id(), true );
      }
    }
    foreach ( $input['events'] as $event ) {
      $companion->queue()->add( array(
        'template_id' => $event['template'],
        'title'       => $event['title'],
        'body'        => $event['body'] ?? '',
        'severity'    => $event['severity'] ?? 'info',
        'category'    => $event['category'] ?? 'info',
        'payload'     => $event['payload'] + array( 'site' => 'https://shop.example.com' ),
        'occurred_at' => ( time() - 60 * $event['minutesAgo'] ) * 1000,
      ) );
    }
    $companion->queue()->flush();
    return $companion->runner()->run();`,
    { url: gateway.api, key: gateway.key, on: switchedOn, events },
  );
}
