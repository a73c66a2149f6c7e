import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MqttMessage } from '../../channels/mqtt/publisher.ts';
import type { Outcome } from '../../core/outcome.ts';
import type { Numbered } from './messages.ts';
import { createPublishRelay } from './publish-relay.ts';

const messageTo = (topic: string): MqttMessage => ({
  topic,
  payload: Buffer.from('x'),
  qos: 1,
  expiresAt: null,
  notification: null,
});

test('A publish that rejects or throws makes that message retry, and the others get their own outcome', async () => {
  const posted = Promise.withResolvers<Numbered<Outcome>[]>();
  const relay = createPublishRelay(
    {
      publish: ({ topic }) => {
        if (topic === 'throws') throw new Error('broken at once');
        return topic === 'rejects' ? Promise.reject(new Error('broken')) : Promise.resolve({ kind: 'sent' });
      },
      check: () => Promise.resolve(null),
      close: () => Promise.resolve(),
    },
    posted.resolve,
  );
  relay(['rejects', 'well', 'throws'].map((topic, index) => [index + 1, messageTo(topic)]));
  const kinds = new Map((await posted.promise).map(([number, { kind }]) => [number, kind]));
  assert.deepEqual(Object.fromEntries(kinds), { 1: 'retry', 2: 'sent', 3: 'retry' });
});
