// Measures how much an enabled template adds to the response time of a page that fires its hook.
import { ConnectedSite } from './connected-site.ts';

export interface PageSpeed {
  rounds: number;
  /** Medians, in milliseconds. */
  withTemplate: number;
  without: number;
  /** Number of requests to the gateway made while a page was being served. */
  gatewayRequestsWithinPages: number;
  /** Number of received notifications: one is expected for each page with the template. */
  received: number;
}

/** A query parameter enables the template, so that requests with and without it can alternate. */
const page = `<?php
add_action( 'tocsin_register_templates', function () {
	tocsin_register_template( array(
		'title' => 'Seen', 'hook_name' => 'page_seen', 'message_title' => '{post} was seen by {user}', 'enabled' => isset( $_GET['speed'] ) && 'on' === $_GET['speed'],
		'hook_meta' => array( 'type' => 'action', 'arg_names' => array( 'post', 'user', 'number' ), 'payload_arity' => 3 ),
	) );
} );
add_action( 'wp', function () {
	if ( isset( $_GET['speed'] ) ) {
		do_action( 'page_seen', get_post( 1 ), get_user_by( 'id', 1 ), $_GET['number'] );
	}
} );
`;

export async function measurePageSpeed(rounds: number): Promise<PageSpeed> {
  const connected = await ConnectedSite.create();
  try {
    const { site } = connected;
    site.write('mu-plugins/page.php', page);
    site.define({ DISABLE_WP_CRON: true });
    await site.serve();
    const times = { on: [] as number[], off: [] as number[] };
    const visit = async (speed: 'on' | 'off', number: number): Promise<number> => {
      const start = performance.now();
      const response = await site.get(`/?speed=${speed}&number=${number}`);
      await response.text();
      if (response.status !== 200)
        throw new Error(`The page responded with status ${response.status}: ${site.debugLog()}`);
      return performance.now() - start;
    };
    for (let warmUp = 0; warmUp < 6; warmUp += 1) await visit('off', 0);
    for (let number = 1; number <= rounds; number += 1) {
      // The order alternates, because the run after a page with the template may slow down the next request.
      const order = number % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const);
      for (const speed of order) times[speed].push(await visit(speed, number));
    }
    const within = site
      .requests()
      .filter((line) => line.url.startsWith(connected.url) && line.within.startsWith('GET /?speed'));
    await connected.stopServing();
    const received = (await connected.received()).filter(({ content }) => content.data.hook === 'page_seen').length;
    return {
      rounds,
      withTemplate: median(times.on),
      without: median(times.off),
      gatewayRequestsWithinPages: within.length,
      received,
    };
  } finally {
    await connected.remove();
  }
}

function median(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
