import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleNotification } from '@tocsin/test-support/mqtt-messages.ts';
import type { Channel } from '../core/channel.ts';
import type { Notification } from '../core/notification.ts';
import { shareByOwner } from './owner-share.ts';

const sendOptions = { qos: 1, customBroker: null } as const;
const of = (ownerId: string): Notification => ({ ...sampleNotification, ownerId });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function heldChannel() {
  const started: string[] = [];
  const ends: (() => void)[] = [];
  const channel: Channel = {
    send: async ({ ownerId }, targets) => {
      started.push(ownerId);
      await new Promise<void>((resolve) => ends.push(resolve));
      return targets.map(() => ({ kind: 'sent' }));
    },
  };
  return { started, ends, channel };
}

test('An owner has its own capacity, waits in order, and does not use that of others', async () => {
  const { started, ends, channel } = heldChannel();
  const shared = shareByOwner(channel, { provider: 'It', running: 2, waiting: 2 });
  const send = (owner: string, signal = new AbortController().signal) =>
    shared.send(of(owner), [{ id: 'a' }], sendOptions, signal);
  const sends = Array.from({ length: 4 }, () => send('greedy'));
  assert.deepEqual(await send('greedy'), [
    { kind: 'retry', reason: 'not_attempted', error: 'It: too many messages of this owner are waiting' },
  ]);
  const other = send('other');
  await turn();
  assert.deepEqual(started, ['greedy', 'greedy', 'other']);
  ends.shift()?.();
  await sends[0];
  await turn();
  assert.deepEqual(started, ['greedy', 'greedy', 'other', 'greedy']);
  while (ends.length > 0) {
    ends.shift()?.();
    await turn();
  }
  for (const outcome of await Promise.all([...sends, other])) assert.deepEqual(outcome, [{ kind: 'sent' }]);
});

test('A send that is aborted stops waiting at once, and the next one takes its place', async () => {
  const { started, ends, channel } = heldChannel();
  const shared = shareByOwner(channel, { provider: 'It', running: 1, waiting: 1 });
  const send = (signal: AbortSignal) => shared.send(of('one'), [{ id: 'a' }], sendOptions, signal);
  const first = send(new AbortController().signal);
  const over = new AbortController();
  const waiting = send(over.signal);
  over.abort();
  assert.equal((await waiting)[0]?.kind, 'retry');
  const next = send(new AbortController().signal);
  ends.shift()?.();
  await first;
  await turn();
  ends.shift()?.();
  assert.deepEqual(await next, [{ kind: 'sent' }]);
  assert.equal(started.length, 2);
});
