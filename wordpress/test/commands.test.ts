// The WP-CLI commands `wp tocsin`.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { canRun } from '@tocsin/test-support/requires.ts';
import { ConnectedSite } from './support/connected-site.ts';
import { wordpressObstacle } from './support/wordpress-files.ts';

const obstacle = wordpressObstacle();

const shop = `<?php
add_action( 'tocsin_register_templates', function () {
	tocsin_register_template( array( 'id' => 'shop', 'title' => 'Order', 'hook_name' => 'shop_order', 'message_title' => 'Order {number}',
		'hook_meta' => array( 'type' => 'action', 'arg_names' => array( 'number' ), 'payload_arity' => 1 ) ) );
} );
`;

suite('wp tocsin', () => {
  let connected: ConnectedSite;

  before(async () => {
    if (obstacle !== null && obstacle !== undefined) return;
    connected = await ConnectedSite.create();
    connected.site.write('mu-plugins/shop.php', shop);
  });
  after(() => connected?.remove());

  const wp = (...args: string[]) => connected.site.wp('tocsin', ...args);
  const json = async (...args: string[]) => JSON.parse(await wp(...args, '--format=json'));
  const errorOf = async (...args: string[]) => {
    const { status, stderr } = await connected.site.tryWp('tocsin', ...args);
    assert.equal(status, 1, stderr);
    return stderr;
  };
  const titles = async () => (await connected.received()).map(({ content }) => content.title);

  test('check and send deliver a notification', async (t) => {
    if (!canRun(t, obstacle)) return;
    assert.match(await wp('check'), /accepted the monitoring check/);
    assert.match(await wp('send', '--title=Backup failed', '--severity=error'), /accepted/);
    const [check, backup] = await connected.received();
    assert.match(check?.content.title ?? '', /^Monitoring check/);
    assert.deepEqual([backup?.content.title, backup?.content.severity], ['Backup failed', 'error']);
    assert.match(await errorOf('send', '--title=x', '--severity=loud'), /severity/);
  });

  test('enables a template, lists and sends its queued event, and sends it again', async (t) => {
    if (!canRun(t, obstacle)) return;
    const state = async () =>
      (await json('templates', 'list')).find(({ id }: { id: string }) => id === 'shop')?.on as string;
    assert.equal(await state(), 'off');
    assert.match(await wp('templates', 'on', 'shop'), /is on/);
    assert.equal(await state(), 'on');
    assert.match(await errorOf('templates', 'on', 'no-such'), /Template "no-such" not found/);

    await connected.site.php(`do_action( 'shop_order', 17 ); return 1;`);
    const [event] = await json('queue', 'list', '--state=waiting');
    assert.deepEqual([event.title, event.state], ['Order 17', 'waiting']);
    assert.match(await wp('queue', 'run'), /1 sent, 0 not accepted, 0 expired/);
    assert.match(await wp('queue', 'resend', String(event.id)), /due now/);
    assert.match(await wp('queue', 'run'), /1 sent/);
    assert.equal((await titles()).filter((title) => title === 'Order 17').length, 2);
    assert.match(await errorOf('queue', 'resend', '987'), /Event 987 not found/);
    assert.match(await wp('queue', 'prune'), /0 old events/);
    await wp('templates', 'off', 'shop');
    assert.equal(await state(), 'off');
  });

  test('status shows the connection and the queue but not the key', async (t) => {
    if (!canRun(t, obstacle)) return;
    const table = await wp('status');
    const status = await json('status');
    assert.deepEqual([status.url, status.key, status.waiting, status.sent], [connected.url, 'set', 0, 1]);
    assert.match(status.next_run, /^\d{4}-\d\d-\d\dT/);
    assert.ok(!`${table}${JSON.stringify(status)}`.includes('svc_'));
  });
});
