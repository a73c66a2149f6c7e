import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantedQos, maySubscribe, topicsOf } from './topic-access.ts';

const topics = topicsOf('a/b', 'own', 'dev');

test('The topics of a device lie below its prefix', () => {
  assert.deepEqual(topics, {
    base: 'a/b/own/dev/',
    notifications: 'a/b/own/dev/notifications',
    acknowledgements: 'a/b/own/dev/ack',
  });
});

test('A device may subscribe strictly below its prefix, and nowhere else', () => {
  for (const rest of ['notifications', '#', '+', '+/#', 'x/+/y', 'ünïcödé', ' ']) {
    assert.ok(maySubscribe(topics, `a/b/own/dev/${rest}`), rest);
  }
  const refused = ['', '/', 'x/', '/x', 'x//y', '#/x', 'x#', '+x', 'x+', '\u0000', 'x\u007f', '\ud800', '\ufffd'];
  for (const rest of refused) assert.ok(!maySubscribe(topics, `a/b/own/dev/${rest}`), JSON.stringify(rest));
  for (const filter of ['a/b/own/dev', 'a/b/own/dev2/x', 'a/b/own/+/x', 'a/b/#', '#', '$share/g/a/b/own/dev/x', '']) {
    assert.ok(!maySubscribe(topics, filter), filter);
  }
});

test('The highest QoS of the filters that match is granted', () => {
  const granted = (...filters: [string, 0 | 1 | 2][]) =>
    grantedQos(
      filters.map(([filter, qos]) => ({ filter: `a/b/own/dev/${filter}`, qos })),
      topics.notifications,
    );
  assert.equal(granted(), null);
  assert.equal(granted(['ack', 2], ['notifications/more', 2], ['+/more', 2], ['notifications/+', 2]), null);
  assert.equal(granted(['notifications', 0]), 0);
  assert.equal(granted(['notifications', 0], ['+', 2], ['#', 1]), 2);
  assert.equal(granted(['notifications/#', 1]), 1);
});
