import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EventStream } from './event-stream.ts';

const heavy = { event: 'changed', data: { unread: { count: 1, atMost: 1 }, padding: 'x'.repeat(200_000) } } as const;

suite('A stream of events', () => {
  test('buffers up to a limit for a client that reads nothing, then disconnects it', () => {
    const stream = new EventStream();
    stream.send(heavy);
    stream.beat();
    assert.equal(stream.destroyed, false, 'a small backlog is allowed');
    stream.send(heavy);
    assert.ok(stream.isBehind);
    stream.beat();
    assert.ok(stream.destroyed, 'still behind at the next beat');

    const flooded = new EventStream();
    for (let count = 0; count < 6; count += 1) flooded.send(heavy);
    assert.ok(flooded.destroyed, 'disconnected earlier if the buffer is full');
    assert.ok(flooded.readableLength < 1_500_000);
  });

  test('is not behind after the client has read everything', async () => {
    const stream = new EventStream();
    for (let count = 0; count < 3; count += 1) stream.send(heavy);
    stream.resume();
    await new Promise(setImmediate);
    assert.equal(stream.isBehind, false);
    stream.beat();
    assert.equal(stream.destroyed, false);
  });
});
