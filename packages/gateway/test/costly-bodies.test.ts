// Requests with more values than are parsed on the main thread: responses, messages, emails and the inbox
// are those of any other request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NotificationContent } from '@tocsin/contract';
import type { InboxListing } from '@tocsin/contract/console';
import { signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { EventListener, search } from '@tocsin/test-support/console-streams.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { createCaller } from '@tocsin/test-support/requests.ts';
import { connectAsync } from 'mqtt';

/** The separators of JSON and the text that marks encoded data must not be mistaken for those of the gateway. */
const members = Object.fromEntries(
  Array.from({ length: 10_000 }, (_, index) => [`key ${index}`, index % 100 === 0 ? { text: '"\\u0041",é🔔' } : index]),
);

test('A body of 10,000 fields is stored, delivered and shown like any other', async (t) => {
  const { installation, smtp } = await installWithSmtp(t);
  const gateway = await serveWithEmail(installation);
  const { firstRun, mqtt: url = '' } = gateway.line;
  assert.ok(firstRun);
  const client = await signInAtFirstRun(gateway);
  const feed = await EventListener.open(client);
  t.after(() => feed.close());
  const caller = await createCaller(gateway.api, gateway.key);

  // The device is away, so that its message is read from the store.
  const { status, body } = await caller.notify({ title: 'Many', data: members });
  assert.deepEqual([status, body.stored, body.payloadPreview?.dataKeys], [200, true, Object.keys(members)]);
  const expected = { title: 'Many', body: '', source: 'third_party', category: 'info', severity: null, data: members };

  const { password, topic } = firstRun.device.mqtt;
  const device = await connectAsync(url, { username: firstRun.device.id, password, clean: false, clientId: 'device' });
  t.after(() => device.endAsync(true));
  const messages: (NotificationContent & { id: string })[] = [];
  device.on('message', (_topic, payload) => messages.push(JSON.parse(payload.toString())));
  await device.subscribeAsync(topic, { qos: 1 });
  const first = await eventually(
    'the queued message arrives',
    10_000,
    () => messages[0],
    (message) => message !== undefined,
  );
  assert.deepEqual(contentOf(first), expected);
  await caller.notify({ title: 'Many', data: members });
  await eventually(
    'the next message arrives',
    10_000,
    () => messages.length,
    (count) => count === 2,
  );
  assert.deepEqual(contentOf(messages[1]), expected);

  const { body: listing } = await client.get<InboxListing>('/api/notifications?limit=10');
  assert.deepEqual(listing.notifications.map(contentOf), [expected, expected]);
  const { body: found } = await client.get<{ notification: NotificationContent }>(`/api/notifications/${body.id}`);
  assert.deepEqual(contentOf(found.notification), expected);
  const { matches } = await search(client, { q: 'key 9999' });
  assert.deepEqual(matches.map(contentOf), [expected, expected]);
  const [stored] = await installation.json<NotificationContent[]>('inbox', 'list', '--limit', '1');
  assert.deepEqual(contentOf(stored), expected);

  const arrived = await feed.waitFor('the notification arrives', 10_000, ({ event }) => event === 'arrived');
  assert.deepEqual(arrived.event === 'arrived' && contentOf(arrived.data.notification), expected);
  assert.equal(body.emailSent, true);
  const email = smtp.emails.find(({ raw }) => raw.includes('Subject: Many'))?.raw ?? '';
  assert.ok(email.includes('key 99: 99'), 'a row of the table');
  assert.ok(email.includes('and 9900 more'), 'the number of other rows');
});

function contentOf(content: NotificationContent | undefined): NotificationContent | undefined {
  if (content === undefined) return undefined;
  const { title, body, source, category, severity, data } = content;
  return { title, body, source, category, severity, data };
}
