import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Channel } from '../core/channel.ts';
import type { Outcome } from '../core/outcome.ts';
import { failPendingSendsOn } from './abort-pending-sends.ts';

const notification = {} as Parameters<Channel['send']>[0];
const options = { qos: 0 as const, customBroker: null };
const { signal } = new AbortController();
const targets = [{ id: 'a' }, { id: 'b' }];

function wrap(stop: AbortSignal, send: Channel['send']): Channel {
  return failPendingSendsOn(stop, new Map([['letters', { send }]])).get('letters') as Channel;
}

test('Sends end with the outcomes of their channel until they are aborted, and then at once with a retry', async () => {
  const stop = new AbortController();
  const pending: ((outcomes: Outcome[]) => void)[] = [];
  const channel = wrap(stop.signal, () => new Promise((resolve) => pending.push(resolve)));
  const inTime = channel.send(notification, targets, options, signal);
  pending[0]?.([{ kind: 'sent' }, { kind: 'sent' }]);
  assert.deepEqual(await inTime, [{ kind: 'sent' }, { kind: 'sent' }]);
  const inFlight = channel.send(notification, targets, options, signal);
  stop.abort();
  const kinds = (outcomes: readonly Outcome[]): string[] => outcomes.map(({ kind }) => kind);
  assert.deepEqual(kinds(await inFlight), ['retry', 'retry']);
  assert.deepEqual(kinds(await channel.send(notification, targets, options, signal)), ['retry', 'retry']);
});

test('The rejection of a channel is passed on', async () => {
  const channel = wrap(new AbortController().signal, () => Promise.reject(new Error('a fault')));
  await assert.rejects(channel.send(notification, targets, options, signal), /a fault/);
});
