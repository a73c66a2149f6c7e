import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Outcome } from '../core/outcome.ts';
import type { EmailTarget } from '../core/plan.ts';
import type { Channel, Channels } from '../usecases/ports/index.ts';
import { callOffAt } from './abort-pending-sends.ts';

const notification = {} as Parameters<Channel<EmailTarget>['send']>[0];
const options = { qos: 0 as const, customBroker: null };
const { signal } = new AbortController();
const targets = [{ address: 'a@example.com' }, { address: 'b@example.com' }];

function channelsWith(email: Channel<EmailTarget>['send']): Channels {
  const silent = { send: () => new Promise<never>(() => undefined) };
  return { push: silent, mqtt: silent, email: { send: email } };
}

test('Sends end as their channel says until they are called off, and then all at once as failed for now', async () => {
  const stop = new AbortController();
  const answers: ((outcomes: Outcome[]) => void)[] = [];
  const { email } = callOffAt(
    stop.signal,
    channelsWith(() => new Promise((resolve) => answers.push(resolve))),
  );
  const inTime = email.send(notification, targets, options, signal);
  answers[0]?.([{ kind: 'sent' }, { kind: 'sent' }]);
  assert.deepEqual(await inTime, [{ kind: 'sent' }, { kind: 'sent' }]);
  const underWay = email.send(notification, targets, options, signal);
  stop.abort();
  const kinds = (outcomes: readonly Outcome[]): string[] => outcomes.map(({ kind }) => kind);
  assert.deepEqual(kinds(await underWay), ['retry', 'retry']);
  assert.deepEqual(kinds(await email.send(notification, targets, options, signal)), ['retry', 'retry']);
});

test('A channel that fails for a reason of its own still does', async () => {
  const { email } = callOffAt(
    new AbortController().signal,
    channelsWith(() => Promise.reject(new Error('a fault'))),
  );
  await assert.rejects(email.send(notification, targets, options, signal), /a fault/);
});
