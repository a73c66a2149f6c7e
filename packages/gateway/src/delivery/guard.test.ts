import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type Channel, type ChannelTarget, timeoutOf } from '../core/channel.ts';
import type { Notification } from '../core/notification.ts';
import type { Outcome } from '../core/outcome.ts';
import { type GuardOptions, guard } from './guard.ts';

type Send = Channel['send'];

const notification = { id: 'n' } as Notification;
const options = { qos: 1, customBroker: null } as const;
const down: Outcome = { kind: 'retry', reason: 'unreachable', error: 'refused' };
const sent: Outcome = { kind: 'sent' };

function guarded(send: Send, more: Partial<GuardOptions> = {}) {
  const channel = guard({ send }, { provider: 'The SMTP server', timeoutMs: 100, maxConcurrent: 2, ...more });
  return (ids = ['a'], signal?: AbortSignal) => {
    const targets = ids.map((id): ChannelTarget => ({ id }));
    return channel.send(notification, targets, options, signal ?? AbortSignal.timeout(timeoutOf(channel, options)));
  };
}

suite('A guarded channel', () => {
  test('returns the outcomes of the channel', async () => {
    const mixed: Outcome[] = [
      sent,
      { kind: 'gone', error: 'deleted' },
      { kind: 'rejected', reason: 'refused', error: 'never' },
    ];
    assert.deepEqual(await guarded(async () => mixed)(['a', 'b', 'c']), mixed);
  });

  test('passes the deadline of the send on to the channel', async () => {
    let reason: unknown;
    const send = guarded(
      (_notification, targets, _options, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
            resolve(targets.map(() => ({ kind: 'retry', reason: 'deferred', error: 'stopped' })));
          });
        }),
    );
    assert.deepEqual(await send(), [{ kind: 'retry', reason: 'deferred', error: 'stopped' }]);
    assert.equal((reason as Error).name, 'TimeoutError');
  });

  test('does not wait for a channel that ignores its deadline, and returns one outcome per target', async () => {
    const outcomes = await guarded(() => new Promise(() => undefined))(['a', 'b']);
    const late = { kind: 'retry', reason: 'unreachable', error: 'The SMTP server did not respond in time' };
    assert.deepEqual(outcomes, [late, late]);
  });

  test('obeys a deadline that is shorter than its timeout', async () => {
    const send = guarded(() => new Promise(() => undefined), { timeoutMs: 60_000 });
    const [outcome] = await send(['a'], AbortSignal.timeout(20));
    assert.equal(outcome?.kind, 'retry');
  });

  test('fails at once, without an attempt, while the provider is known to be down, and attempts again later', async () => {
    let asked = 0;
    let answer = down as Outcome;
    const send = guarded(
      async () => {
        asked += 1;
        return [answer];
      },
      { failuresToOpen: 3, openMs: 50 },
    );
    for (let count = 0; count < 3; count += 1) assert.deepEqual(await send(), [down]);
    const [refused] = await send();
    assert.equal(asked, 3);
    assert.deepEqual(refused, {
      kind: 'retry',
      reason: 'circuit_open',
      error: 'The SMTP server is not reachable at the moment',
    });
    answer = sent;
    await eventually('a probe is sent', 2000, send, ([outcome]) => outcome?.kind === 'sent');
    assert.deepEqual(await send(), [sent]);
  });

  test('does not count one unreachable target as an outage while others are reached', async () => {
    const send = guarded(async (_notification, targets) => targets.map(({ id }) => (id === 'dead' ? down : sent)));
    for (let count = 0; count < 20; count += 1) assert.deepEqual(await send(['ok', 'dead']), [sent, down]);
  });

  test('does not count rejections of single targets as an outage', async () => {
    let asked = 0;
    const rejected: Outcome = { kind: 'rejected', reason: 'refused', error: 'no such mailbox' };
    const send = guarded(async () => {
      asked += 1;
      return [rejected];
    });
    for (let count = 0; count < 20; count += 1) assert.deepEqual(await send(), [rejected]);
    assert.equal(asked, 20);
  });

  test('limits the sends that run and wait, and fails the others at once', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const send = guarded(
      async () => {
        running += 1;
        most = Math.max(most, running);
        await promise;
        running -= 1;
        return [sent];
      },
      { timeoutMs: 5000 },
    );
    const all = Array.from({ length: 6 }, () => send());
    const full: Outcome = {
      kind: 'retry',
      reason: 'not_attempted',
      error: 'The SMTP server: too many messages are waiting',
    };
    assert.deepEqual(await all[5], [full]);
    assert.deepEqual(await all[4], [full]);
    resolve();
    assert.deepEqual(await Promise.all(all.slice(0, 4)), [[sent], [sent], [sent], [sent]]);
    assert.equal(most, 2);
  });
});
