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

  test('reports once that a channel has recovered, and nothing about channels that were never down', () => {
    const reported: string[] = [];
    const recovery = new Recovery((channel) => reported.push(channel));
    recovery.note(up('mqtt'));
    recovery.note(down('mqtt'));
    recovery.note(up('email'));
    assert.deepEqual(reported, []);
    recovery.note(up('mqtt'));
    recovery.note(up('mqtt'));
    assert.deepEqual(reported, ['mqtt']);
  });

  test('does not count a deferred message as an outage', () => {
    const reported: string[] = [];
    const recovery = new Recovery((channel) => reported.push(channel));
    recovery.note({ ...nothing, push: [{ kind: 'retry', reason: 'deferred', error: 'later' }] });
    recovery.note(up('push'));
    assert.deepEqual(reported, []);
  });

  test('reports a flapping channel with increasing pauses, and at once after a stable period', () => {
    let now = 0;
    const reported: number[] = [];
    const recovery = new Recovery(
      () => reported.push(now),
      () => now,
    );
    for (; now < 60_000; now += 1000) {
      recovery.note(down('mqtt'));
      recovery.note(up('mqtt'));
    }
    assert.deepEqual(reported, [0, 5000, 15_000, 35_000]);
    now = 3_600_000;
    recovery.note(down('mqtt'));
    recovery.note(up('mqtt'));
    assert.equal(reported.at(-1), now);
  });

  test('probes the provider of a channel that is down until it responds, and not any longer', async () => {
    let [probes, isUp] = [0, false];
    const back = Promise.withResolvers<ChannelName>();
    const recovery = new Recovery(back.resolve, () => 0, 1);
    recovery.probeWith('email', async () => {
      probes += 1;
      isUp = probes === 3;
      return isUp;
    });
    recovery.note(down('email'));
    assert.equal(await back.promise, 'email');
    assert.equal(probes, 3);
    recovery.close();
  });
});
