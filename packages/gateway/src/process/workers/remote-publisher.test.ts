import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MqttMessage } from '../../channels/mqtt/publisher.ts';
import type { Numbered } from './messages.ts';
import { RemotePublisher } from './remote-publisher.ts';

const message: MqttMessage = { topic: 't', payload: Buffer.from('x'), qos: 1, expiresAt: null, notification: null };
const neverAborts = new AbortController().signal;

function publisherWithPost() {
  const posted = Promise.withResolvers<Numbered<MqttMessage>[]>();
  const posts: Numbered<MqttMessage>[][] = [];
  const publisher = new RemotePublisher((messages) => {
    posts.push(messages);
    posted.resolve(messages);
  });
  return { publisher, posts, posted: posted.promise };
}

test('Publishes of one event loop iteration share one message to the primary, and each gets its own outcome', async () => {
  const { publisher, posts, posted } = publisherWithPost();
  const outcomes = [publisher.publish(message, neverAborts), publisher.publish(message, neverAborts)];
  const [first, second] = (await posted).map(([number]) => number) as [number, number];
  publisher.settle([
    [second, { kind: 'rejected', reason: 'refused', error: 'too large' }],
    [first, { kind: 'sent' }],
  ]);
  assert.deepEqual(await Promise.all(outcomes), [
    { kind: 'sent' },
    { kind: 'rejected', reason: 'refused', error: 'too large' },
  ]);
  assert.equal(posts.length, 1);
});

test('A publish settles at once when its signal aborts, and a late outcome is ignored', async () => {
  const { publisher, posted } = publisherWithPost();
  const deadline = new AbortController();
  const outcome = publisher.publish(message, deadline.signal);
  const [[number]] = (await posted) as [Numbered<MqttMessage>];
  deadline.abort();
  assert.equal((await outcome).kind, 'retry');
  publisher.settle([[number, { kind: 'sent' }]]);
  assert.equal((await publisher.publish(message, deadline.signal)).kind, 'retry', 'it had aborted before');
});

test('After the primary has exited, pending and later publishes end as retry, with the broker unreachable', async () => {
  const { publisher } = publisherWithPost();
  const waiting = publisher.publish(message, neverAborts);
  publisher.disconnect();
  for (const outcome of [await waiting, await publisher.publish(message, neverAborts)]) {
    assert.ok(outcome.kind === 'retry' && outcome.reason === 'unreachable', JSON.stringify(outcome));
  }
  assert.match((await publisher.check()) ?? '', /stopped/);
});
