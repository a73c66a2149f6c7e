// Downtime of the gateway, killed runners and concurrent runners: every event is delivered once and in order.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, suite, test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { ConnectedSite } from './support/connected-site.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

const obstacle = wordpressObstacle();

/** Kills the process after the gateway has responded and before the result is recorded. */
const killAfterResponse = `<?php
add_filter( 'http_response', function ( $response, $args, $url ) {
	if ( TOCSIN_URL === $url && file_exists( getenv( 'WORDPRESS_SITE' ) . '/die' ) ) {
		unlink( getenv( 'WORDPRESS_SITE' ) . '/die' );
		posix_kill( getmypid(), SIGKILL );
	}
	return $response;
}, 1, 3 );
`;

const fire = `foreach ( $input as $title ) {
	Tocsin_Companion::get_instance()->queue()->add( array( 'template_id' => 'test', 'title' => $title, 'body' => 'Text', 'category' => 'info', 'payload' => array() ) );
}
return count( $input );`;

/** Ends all backoffs and leases. */
const expireDelays = `global $wpdb;
$wpdb->query( 'UPDATE ' . Tocsin_Queue::table() . " SET next_at = 0, lease_until = 0 WHERE state = 'waiting'" );
return $wpdb->query( "UPDATE $wpdb->options SET option_value = '1 x' WHERE option_name = 'tocsin_runner_lock'" );`;

const run = 'return Tocsin_Companion::get_instance()->runner()->run();';

interface Run {
  sent: number;
  failed: number;
  reason: string;
}

suite('Downtime of the gateway', () => {
  let connected: ConnectedSite;
  let seen = 0;

  before(async () => {
    if (obstacle !== null && obstacle !== undefined) return;
    connected = await ConnectedSite.create();
    connected.site.write('mu-plugins/kill.php', killAfterResponse);
  });
  beforeEach(async () => {
    if (connected !== undefined) seen = (await connected.received()).length;
  });
  after(() => connected?.remove());

  const received = async () => (await connected.received()).slice(seen).map(({ content }) => content.title);
  const counts = () =>
    connected.site.php<{ waiting: number; dead: number }>(
      'return Tocsin_Companion::get_instance()->queue()->counts();',
    );

  test('events queued during a downtime are delivered once and in order after it', async (t) => {
    if (!canRun(t, obstacle)) return;
    const titles = Array.from({ length: 10 }, (_, number) => `Event ${number}`);
    await connected.gateway.stop();
    for (const title of titles.slice(0, 5)) await connected.site.php(fire, [title]);
    assert.equal((await connected.site.php<Run>(run)).failed, 1, 'one attempt on behalf of all events');
    for (const title of titles.slice(5)) await connected.site.php(fire, [title]);
    await connected.site.php(expireDelays);
    assert.equal((await connected.site.php<Run>(run)).failed, 1);
    assert.equal((await counts()).waiting, 10);

    await connected.restartGateway();
    await connected.site.php(expireDelays);
    assert.equal((await connected.site.php<Run>(run)).sent, 10);
    assert.deepEqual(await received(), titles);
    assert.equal((await connected.site.php<Run>(run)).sent, 0);
  });

  test('a successful monitoring check ends the downtime', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.gateway.stop();
    await connected.site.php(fire, ['Waited']);
    assert.equal((await connected.site.php<Run>(run)).failed, 1);
    await connected.restartGateway();
    assert.equal((await connected.site.php<Run>(run)).sent, 0, 'not before the backoff ends');
    assert.equal(await connected.site.php('return Tocsin_Companion::get_instance()->send_monitoring_check();'), true);
    assert.equal((await connected.site.php<Run>(run)).sent, 1);
    assert.deepEqual((await received()).slice(1), ['Waited']);
  });

  test('a runner killed after the gateway accepted an event causes no duplicate', async (t) => {
    if (!canRun(t, obstacle)) return;
    await connected.site.php(fire, ['Before', 'After']);
    const flag = join(connected.site.folder, 'die');
    writeFileSync(flag, '');
    await assert.rejects(connected.site.php(run));
    assert.ok(!existsSync(flag), 'the runner was killed after the response');
    assert.deepEqual(await received(), ['Before']);
    assert.equal((await counts()).waiting, 2);
    assert.equal(
      (await connected.site.php<Run>(run)).reason,
      'busy',
      'no other runner starts before the lease expires',
    );

    await connected.site.php(expireDelays);
    assert.equal((await connected.site.php<Run>(run)).sent, 2);
    assert.deepEqual(await received(), ['Before', 'After']);
    assert.deepEqual([(await counts()).waiting, (await counts()).dead], [0, 0]);
  });

  test('concurrent processes never claim the same event', async (t) => {
    if (!canRun(t, obstacle)) return;
    const titles = Array.from({ length: 30 }, (_, number) => `Claim ${number}`);
    await connected.site.php(fire, titles);
    const start = Date.now() + 1_500;
    const claimAll = `while ( microtime( true ) * 1000 < $input ) { usleep( 100 ); }
      $queue = new Tocsin_Queue();
      $claimed = array();
      for ( $round = 0; $round < 40; $round++ ) {
        $claimed = array_merge( $claimed, array_column( $queue->claim( 2 ), 'title' ) );
      }
      return $claimed;`;
    const claimed = await Promise.all([1, 2, 3].map(() => connected.site.php<string[]>(claimAll, start)));
    assert.deepEqual(claimed.flat().sort(), titles.toSorted());
    assert.ok(claimed.filter((titles) => titles.length > 0).length > 1, 'more than one process claimed events');

    await connected.site.php(expireDelays);
    const runs = await Promise.all([1, 2, 3].map(() => connected.site.php<Run>(run)));
    assert.equal(
      runs.reduce((sum, { sent }) => sum + sent, 0),
      30,
    );
    assert.deepEqual(await received(), titles);
  });
});
