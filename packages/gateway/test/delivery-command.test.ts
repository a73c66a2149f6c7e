// The commands with which an operator lists and retries queued and dead deliveries.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { notify } from '@tocsin/test-support/requests.ts';

interface Row {
  id: string;
  ownerId: string;
  notificationId: string;
  channel: string;
  state: string;
}

suite('The commands about deliveries', () => {
  let installation: Installation;
  let ann: string;
  const sentIds: string[] = [];

  /** An SMTP server that is down leaves one queued delivery per notification. */
  before(async () => {
    installation = await Installation.create({
      TOCSIN_SMTP_URL: `smtp://127.0.0.1:${await findFreePort()}`,
      TOCSIN_EMAIL_FROM: 'tocsin@example.com',
    });
    const gateway = await installation.serve();
    ann = gateway.line.firstRun?.owner ?? '';
    await installation.json('owner', 'set', ann, '--email', 'ann@example.com', '--email-alerts', 'on');
    for (const title of ['one', 'two', 'three']) sentIds.push((await notify(gateway, { title })).body.id);
    await gateway.stop();
  });
  after(() => installation.remove());

  async function text(...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await installation.run(['delivery', ...args]);
    assert.equal(exitCode, 0, stderr);
    return stdout;
  }
  const rows = (...args: string[]): Promise<Row[]> => installation.json<Row[]>('delivery', 'list', ...args);

  /** Sets the state as a server would have. */
  function become(state: 'dead' | 'sent', ...notificationIds: string[]): void {
    const db = new DatabaseSync(join(installation.dataDir, 'tocsin.db'));
    const end = db.prepare('UPDATE deliveries SET state = ?, next_at = NULL, ended_at = 1 WHERE notification_id = ?');
    for (const id of notificationIds) assert.equal(end.run(state, id).changes, 1);
    db.close();
  }

  test('list queued and dead deliveries, newest first, and those sent later only on request', async () => {
    assert.match(await text('list', '--state', 'dead'), /^No dead deliveries\.\n$/);
    assert.match(await text('list', '--state', 'sent'), /^No deliveries were sent by a retry\.\n$/);
    const [first = '', second = '', third = ''] = sentIds;
    become('dead', third);
    become('sent', first);
    assert.deepEqual(
      (await rows()).map(({ notificationId, state }) => [notificationId, state]),
      [
        [third, 'dead'],
        [second, 'waiting'],
      ],
    );
    assert.doesNotMatch(await text('list'), /OWNER/);
    assert.deepEqual(
      (await rows('--state', 'sent')).map(({ notificationId }) => notificationId),
      [first],
    );
    assert.deepEqual(
      (await rows('--notification', first)).map(({ channel, state }) => [channel, state]),
      [
        ['email', 'sent'],
        ['mqtt', 'queued'],
      ],
    );
    assert.match(
      await text('list', '--notification', 'none'),
      /No deliveries of that notification: .*does not exist\.\n$/,
    );
  });

  test('report when there are more than were shown', async () => {
    assert.match(await text('list', '--limit', '1'), /\n1 shown; --limit shows more\.\n$/);
    assert.equal((await rows('--limit', '1')).length, 1);
    assert.doesNotMatch(await text('list', '--limit', '2'), /shown/);
  });

  test('find the owner of an ID, and require an owner for all of them', async () => {
    const bob = await installation.json('owner', 'create', '--name', 'Bob');
    const [dead] = await rows();
    assert.match(await text('list'), /^ID +OWNER +STATE[\s\S]*own_/);
    assert.deepEqual(await rows('--owner', bob.id as string), []);
    const all = await installation.run(['delivery', 'retry', '--all']);
    assert.equal(all.exitCode, 2);
    assert.match(all.stderr, /several owners\. Choose one:\n.*--owner own_/);
    assert.match(await text('retry', dead?.id ?? ''), /^1 will be retried within two seconds/);
    assert.deepEqual(
      (await rows()).map(({ state }) => state),
      ['waiting', 'waiting'],
    );
    const unknown = await installation.run(['delivery', 'drop', 'nothing.email']);
    assert.equal(unknown.exitCode, 1);
    assert.match(unknown.stderr, /no delivery nothing\.email/);
  });

  test('report that there was nothing to do', async () => {
    assert.match(
      await text('retry', '--all', '--owner', ann),
      /^No dead deliveries\. Waiting ones are retried automatically\.\n$/,
    );
    const [sent] = await rows('--state', 'sent');
    assert.match(await text('retry', sent?.id ?? ''), /^It has been sent in the meantime\.\n$/);
    become('dead', ...sentIds.slice(1));
    assert.match(await text('list', '--state', 'waiting'), /^No waiting deliveries\.\n$/);
    assert.match(await text('drop', '--all', '--owner', ann), /^2 dropped\. The notifications themselves stay/);
    assert.match(await text('list'), /^No waiting or dead deliveries\.\n$/);
  });

  test('show as delivered what the device acknowledged, although the process died before it recorded it', async () => {
    const [notificationId = ''] = sentIds;
    const db = new DatabaseSync(join(installation.dataDir, 'tocsin.db'));
    const { device_id: device } = db.prepare('SELECT device_id FROM mqtt_waiting').get() as { device_id: string };
    db.prepare(
      'INSERT INTO mqtt_receipts (owner_id, notification_id, device_id, delivered_at, qos) VALUES (?, ?, ?, 1, 1)',
    ).run(ann, notificationId, device);
    db.prepare(
      `INSERT INTO deliveries (owner_id, notification_id, channel, target, state, attempts, qos, created_at, next_at,
        not_before, expires_at, sealed) VALUES (?, ?, 'mqtt', ?, 'waiting', 0, 1, 1, 1, 1, 1, x'00')`,
    ).run(ann, notificationId, device);
    db.close();
    const listed = await rows('--notification', notificationId);
    assert.deepEqual(
      listed.filter(({ channel }) => channel === 'mqtt').map(({ state }) => state),
      ['delivered'],
    );
  });
});
