// Example data for the screenshots: a small site that is connected to a gateway and has sent a few events.
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import type { WordPressSite } from '../test/support/wordpress-site.ts';

/** The address that the screenshots show. Requests to it are routed to the gateway of this run. */
const exampleUrl = 'https://tocsin.example.com/';

const enabled = ['post_published', 'comment_pending', 'user_registered', 'failed_logins', 'fatal_error', 'mail_failed'];

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
    title: '10 failed logins within ten minutes',
    body: 'Last user name: admin',
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

/** Connects the site, enables templates, and queues and sends the example events. The one older than 24 hours expires. */
export async function fillSite(site: WordPressSite, gateway: GatewayProcess): Promise<void> {
  // The key is bound to the origin it is saved for, so the example address must be the one in use, not only the one shown.
  site.write(
    'mu-plugins/route.php',
    `<?php add_filter( 'pre_http_request', fn( $response, $args, $url ) => '${exampleUrl}' === $url ? wp_remote_request( '${gateway.api}', $args ) : $response, 2, 3 );`,
  );
  const run = await site.php<{ sent: number; expired: number }>(
    `update_option( 'blogname', 'The little shop' );
    $companion = Tocsin_Companion::get_instance();
    $problems = $companion->connection()->save( $input['url'], $input['key'], false );
    if ( array() !== $problems ) {
      throw new RuntimeException( implode( ' ', $problems ) );
    }
    foreach ( $companion->templates()->visible() as $template ) {
      if ( in_array( $template->id(), $input['enabled'], true ) ) {
        $companion->template_settings()->save( $template->id(), true );
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
    { url: exampleUrl, key: gateway.key, enabled, events },
  );
  if (run.expired !== 1 || run.sent !== events.length - 1) throw new Error(`Unexpected result: ${JSON.stringify(run)}`);
}
