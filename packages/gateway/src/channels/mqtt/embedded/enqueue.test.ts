import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type MqttQueueRepository, StoreUnavailable } from '../../../usecases/ports/index.ts';
import { createEnqueue } from './enqueue.ts';
import { LimitPolicy } from './limit-policy.ts';
import { Queue } from './queue.ts';

const unavailable = async (): Promise<never> => {
  throw new StoreUnavailable('the disk is full');
};

suite('The length of a queue', () => {
  /** A queue with one message and a limit of one. */
  function start(
    rows: Pick<MqttQueueRepository, 'enqueue' | 'list'>,
    whenFull: 'wait' | 'drop_oldest' = 'drop_oldest',
  ) {
    const unused = { listInFlight: unavailable, update: unavailable, confirm: unavailable, remove: unavailable };
    const queue = new Queue({ ownerId: 'own', deviceId: 'dev', clientId: 'client' }, 'topic', 1, {
      rows: { ...unused, list: rows.list },
      findPayload: async () => null,
      now: () => 0,
      onFailed: () => undefined,
      onRemoved: () => undefined,
      onExpired: () => undefined,
    });
    const limitPolicy = new LimitPolicy({
      rows: { list: rows.list, deadLetter: unavailable },
      limit: { length: 1, whenFull },
      now: () => 0,
      onEvent: () => undefined,
      onRoom: () => undefined,
    });
    const enqueue = createEnqueue({
      rows: { enqueue: rows.enqueue, findProgress: async () => new Map() },
      limitPolicy,
    });
    return { queue, enqueue: () => enqueue([{ queue, qos: 1 }], 'n1', Buffer.from('n1')) };
  }

  test('is unchanged if the message could not be stored', async () => {
    const { queue, enqueue } = start({ enqueue: unavailable, list: unavailable });
    await assert.rejects(enqueue(), StoreUnavailable);
    assert.equal(queue.length, 1);
  });

  test('includes a stored message even if the oldest could not be dropped for it', async () => {
    const { queue, enqueue } = start({ enqueue: async () => [true], list: unavailable });
    await assert.rejects(enqueue(), StoreUnavailable);
    assert.equal(queue.length, 2);
  });

  test('is unchanged if the session ended during the write', async () => {
    const { queue, enqueue } = start({ enqueue: async () => [false], list: unavailable });
    assert.equal((await enqueue()).kind, 'retry');
    assert.equal(queue.length, 1);
  });

  test('is unchanged if the full queue refuses the message', async () => {
    const { queue, enqueue } = start({ enqueue: unavailable, list: unavailable }, 'wait');
    assert.deepEqual(await enqueue(), {
      kind: 'retry',
      error: 'The queue of the device is full',
      reason: 'target_full',
    });
    assert.equal(queue.length, 1);
  });
});
