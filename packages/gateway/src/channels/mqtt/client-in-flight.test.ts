import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InFlight } from './client-in-flight.ts';

const { signal } = new AbortController();

/** Adds publishes and records which of them were sent, in order, and how to acknowledge them. */
function publish(inFlight: InFlight, count: number) {
  const sent: number[] = [];
  const acknowledge: (() => void)[] = [];
  const results = Array.from({ length: count }, (_, index) =>
    inFlight.add(1, signal, (settle) => {
      sent.push(index);
      acknowledge.push(() => settle({ kind: 'taken' }));
    }),
  );
  const acknowledgeNext = (next: number): void => {
    for (const each of acknowledge.splice(0, next)) each();
  };
  return { sent, acknowledge: acknowledgeNext, results };
}

test('Publishes beyond the limit of the broker wait until half of it is free, and are then sent together', async () => {
  const { sent, acknowledge, results } = publish(new InFlight(20), 45);
  assert.equal(sent.length, 20);
  acknowledge(9);
  assert.equal(sent.length, 20);
  acknowledge(1);
  assert.equal(sent.length, 30);
  acknowledge(20);
  assert.equal(sent.length, 45);
  acknowledge(15);
  assert.deepEqual(
    sent,
    Array.from({ length: 45 }, (_, index) => index),
  );
  assert.deepEqual(new Set((await Promise.all(results)).map(({ kind }) => kind)), new Set(['taken']));
});

test('A publish is sent at once while fewer are in flight than the broker allows, unless others wait', () => {
  const inFlight = new InFlight(4);
  const first = publish(inFlight, 3);
  assert.equal(first.sent.length, 3);
  const second = publish(inFlight, 2);
  assert.equal(second.sent.length, 1);
  first.acknowledge(1);
  const third = publish(inFlight, 1);
  assert.deepEqual([second.sent.length, third.sent.length], [1, 0], 'the order is kept');
  first.acknowledge(1);
  assert.deepEqual([second.sent.length, third.sent.length], [2, 1]);
});

test('A broker that allows one message at a time gets one at a time', () => {
  const { sent, acknowledge } = publish(new InFlight(1), 3);
  for (const expected of [1, 2, 3]) {
    assert.equal(sent.length, expected);
    acknowledge(1);
  }
});
