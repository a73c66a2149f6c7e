import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Outcome } from '../core/outcome.ts';
import type { DeliveryResult } from '../core/response.ts';
import type { ChannelName } from '../usecases/ports/index.ts';
import { Recovery } from './recovery.ts';

const unreachable: Outcome = { kind: 'retry', reason: 'unreachable', error: 'x' };
const nothing: DeliveryResult = { push: [], email: [], mqtt: [] };
const down = (channel: ChannelName): DeliveryResult => ({ ...nothing, [channel]: [unreachable] });
const up = (channel: ChannelName): DeliveryResult => ({ ...nothing, [channel]: [{ kind: 'sent' }] });

suite('Recovery', () => {
  test('reports a channel that stays down for a moment, and that it works again', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const states: string[] = [];
    const recovery = new Recovery(
      () => undefined,
      () => 0,
      5000,
      (channel, state, cause) => states.push(`${channel} ${state} ${cause}`.trim()),
    );
    recovery.note(down('email'));
    t.mock.timers.tick(1999);
    assert.deepEqual(states, []);
    t.mock.timers.tick(1);
    recovery.note(down('email'));
    t.mock.timers.tick(10_000);
    assert.deepEqual(states, ['email down x']);
    recovery.note(up('email'));
    assert.deepEqual(states, ['email down x', 'email up']);
  });

  test('tells once that a channel works again, and nothing of those that were never away', () => {
    const told: string[] = [];
    const recovery = new Recovery((channel) => told.push(channel));
    recovery.note(up('mqtt'));
    recovery.note(down('mqtt'));
    recovery.note(up('email'));
    assert.deepEqual(told, []);
    recovery.note(up('mqtt'));
    recovery.note(up('mqtt'));
    assert.deepEqual(told, ['mqtt']);
  });

  test('does not take the refusal of one message for an absence', () => {
    const told: string[] = [];
    const recovery = new Recovery((channel) => told.push(channel));
    recovery.note({ ...nothing, push: [{ kind: 'retry', reason: 'deferred', error: 'later' }] });
    recovery.note(up('push'));
    assert.deepEqual(told, []);
  });

  test('tells less and less often of a channel that keeps going away, and at once after a calm', () => {
    let now = 0;
    const told: number[] = [];
    const recovery = new Recovery(
      () => told.push(now),
      () => now,
    );
    for (; now < 60_000; now += 1000) {
      recovery.note(down('mqtt'));
      recovery.note(up('mqtt'));
    }
    assert.deepEqual(told, [0, 5000, 15_000, 35_000]);
    now = 3_600_000;
    recovery.note(down('mqtt'));
    recovery.note(up('mqtt'));
    assert.equal(told.at(-1), now);
  });

  test('asks the provider of a channel that is away until it is back, and then no more', async () => {
    let [asked, isBack] = [0, false];
    const back = Promise.withResolvers<ChannelName>();
    const recovery = new Recovery(back.resolve, () => 0, 1);
    recovery.probeWith('email', async () => {
      asked += 1;
      isBack = asked === 3;
      return isBack;
    });
    recovery.note(down('email'));
    assert.equal(await back.promise, 'email');
    assert.equal(asked, 3);
    recovery.close();
  });
});
