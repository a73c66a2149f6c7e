import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { EventStream } from './event-stream.ts';

const heavy = { event: 'changed', data: { unread: { count: 1, atMost: 1 }, padding: 'x'.repeat(200_000) } } as const;

suite('A stream of events', () => {
  test('keeps only so much for a client that takes nothing, and then lets go of it', () => {
    const stream = new EventStream();
    stream.send(heavy);
    stream.beat();
    assert.equal(stream.destroyed, false, 'a little may wait');
    stream.send(heavy);
    assert.ok(stream.isBehind);
    stream.beat();
    assert.ok(stream.destroyed, 'by the next beat it should have been taken');

    const flooded = new EventStream();
    for (let count = 0; count < 6; count += 1) flooded.send(heavy);
    assert.ok(flooded.destroyed, 'or before, when it is too much');
    assert.ok(flooded.readableLength < 1_500_000);
  });

  test('is not behind once the client has taken what there was', async () => {
    const stream = new EventStream();
    for (let count = 0; count < 3; count += 1) stream.send(heavy);
    stream.resume();
    await new Promise(setImmediate);
    assert.equal(stream.isBehind, false);
    stream.beat();
    assert.equal(stream.destroyed, false);
  });
});
