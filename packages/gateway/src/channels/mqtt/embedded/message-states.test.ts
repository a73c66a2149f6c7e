import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from './limits.ts';
import { MessageStates } from './message-states.ts';

const payload = Buffer.alloc(10);
const idOf = (index: number): string => `n${String(index).padStart(4, '0')}`;

function withReady(count: number, qos: 0 | 1 | 2 = 1): MessageStates {
  const states = new MessageStates();
  for (let index = 0; index < count; index += 1) {
    states.addReady({ notificationId: idOf(index), qos, payload });
  }
  return states;
}

test('The window takes messages until it is full, and one more for each that is acknowledged', () => {
  const states = withReady(limits.inFlight + 5);
  const { messages } = states.takeReady(2, Number.POSITIVE_INFINITY);
  assert.equal(messages.length, limits.inFlight);
  assert.ok(states.isWindowFull);
  assert.deepEqual(states.takeReady(2, Number.POSITIVE_INFINITY).messages, []);
  const [first] = messages;
  assert.equal(states.takeInFlight(first?.messageId as number), first);
  assert.equal(states.takeInFlight(first?.messageId as number), undefined, 'a second PUBACK has no effect');
  assert.deepEqual(
    states.takeReady(2, Number.POSITIVE_INFINITY).messages.map(({ notificationId }) => notificationId),
    [idOf(limits.inFlight)],
  );
});

test('A message is known from ready until its row is removed', () => {
  const states = withReady(1);
  const [message] = states.takeReady(1, 1).messages;
  states.takeInFlight(message?.messageId as number);
  assert.ok(states.has('n0000'), 'acknowledged');
  states.remove('n0000');
  assert.ok(!states.has('n0000'));
  assert.equal(states.size, 0);
});

test('QoS 0 messages are not in the window, and the granted QoS is an upper bound', () => {
  const states = withReady(limits.inFlight + 5, 2);
  const { messages } = states.takeReady(0, Number.POSITIVE_INFINITY);
  assert.equal(messages.length, limits.inFlight + 5);
  assert.deepEqual(new Set(messages.map(({ qos, messageId }) => `${qos} ${messageId}`)), new Set(['0 0']));
  assert.deepEqual(states.listInFlight(), []);
});

test('One write takes at least one message, however large, and stops at the limit of bytes', () => {
  const states = withReady(5);
  assert.equal(states.takeReady(1, 1).messages.length, 1);
  assert.equal(states.takeReady(1, 2 * payload.length).messages.length, 2);
});

test('Messages that were not sent, or whose client disconnected, are left to the store', () => {
  const states = withReady(3);
  const { messages } = states.takeReady(1, 2 * payload.length);
  states.returnUnsent(messages.slice(0, 1));
  assert.deepEqual([states.has('n0000'), states.has('n0001'), states.has('n0002')], [false, true, true]);
  states.clearReady();
  assert.deepEqual([states.has('n0001'), states.has('n0002'), states.hasReady], [true, false, false]);
  states.clearInFlight();
  assert.deepEqual([states.size, states.listInFlight()], [0, []]);
});

test('Messages in flight are listed in the order of their notifications, also those of an earlier process', () => {
  const states = withReady(2);
  states.restoreInFlight({ notificationId: 'n', messageId: 0x7000, qos: 2, state: 'pubrel' });
  states.takeReady(1, Number.POSITIVE_INFINITY);
  assert.deepEqual(
    states.listInFlight().map(({ notificationId }) => notificationId),
    ['n', 'n0000', 'n0001'],
  );
  assert.equal(states.findInFlight(0x7000)?.state, 'pubrel');
});
