import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Outcome } from '../core/outcome.ts';
import type { Channel, Notification } from '../usecases/ports/index.ts';
import { type GuardOptions, guard } from './guard.ts';

type Send = Channel<string>['send'];

const notification = { id: 'n' } as Notification;
const options = { qos: 1, customBroker: null } as const;
const down: Outcome = { kind: 'retry', reason: 'unreachable', error: 'refused' };
const sent: Outcome = { kind: 'sent' };

function guarded(send: Send, more: Partial<GuardOptions> = {}) {
  const channel = guard<string>({ send }, { provider: 'The mail server', timeoutMs: 100, maxConcurrent: 2, ...more });
  return (targets = ['a'], signal = new AbortController().signal) =>
    channel.send(notification, targets, options, signal);
}

suite('A guarded channel', () => {
  test('gives what the channel gives', async () => {
    const mixed: Outcome[] = [
      sent,
      { kind: 'gone', error: 'no more' },
      { kind: 'rejected', reason: 'refused', error: 'never' },
    ];
    assert.deepEqual(await guarded(async () => mixed)(['a', 'b', 'c']), mixed);
  });

  test('aborts the channel at its deadline', async () => {
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

  test('leaves a channel behind that does not heed its deadline, with one outcome per target', async () => {
    const outcomes = await guarded(() => new Promise(() => undefined))(['a', 'b']);
    const late = { kind: 'retry', reason: 'unreachable', error: 'The mail server did not answer in time' };
    assert.deepEqual(outcomes, [late, late]);
  });

  test('keeps to the budget of the request where that ends before its own deadline', async () => {
    const send = guarded(() => new Promise(() => undefined), { timeoutMs: 60_000 });
    const [outcome] = await send(['a'], AbortSignal.timeout(20));
    assert.equal(outcome?.kind, 'retry');
  });

  test('fails at once, without asking, while the provider is known to be down, and tries again later', async () => {
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
      error: 'The mail server is not reachable at the moment',
    });
    answer = sent;
    const deadline = performance.now() + 2000;
    let outcome: Outcome | undefined;
    while (outcome?.kind !== 'sent' && performance.now() < deadline) [outcome] = await send();
    assert.deepEqual(outcome, sent);
    assert.deepEqual(await send(), [sent]);
  });

  test('does not take one target that is away for an outage while others are reached', async () => {
    const send = guarded(async (_notification, targets) => targets.map((name) => (name === 'dead' ? down : sent)));
    for (let count = 0; count < 20; count += 1) assert.deepEqual(await send(['ok', 'dead']), [sent, down]);
  });

  test('does not take refusals of single targets for an outage', async () => {
    let asked = 0;
    const rejected: Outcome = { kind: 'rejected', reason: 'refused', error: 'no such mailbox' };
    const send = guarded(async () => {
      asked += 1;
      return [rejected];
    });
    for (let count = 0; count < 20; count += 1) assert.deepEqual(await send(), [rejected]);
    assert.equal(asked, 20);
  });

  test('lets a bounded number run and wait, and tells the others at once', async () => {
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
    const full: Outcome = { kind: 'retry', reason: 'not_attempted', error: 'The mail server: too much is waiting' };
    assert.deepEqual(await all[5], [full]);
    assert.deepEqual(await all[4], [full]);
    resolve();
    assert.deepEqual(await Promise.all(all.slice(0, 4)), [[sent], [sent], [sent], [sent]]);
    assert.equal(most, 2);
  });
});
