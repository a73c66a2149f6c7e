// Orders of events that a client cannot cause on purpose.
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { packetsOf, readPublish } from '@tocsin/test-support/embedded-raw-client.ts';
import { type MqttWaiting, StoreUnavailable } from '../../../usecases/ports/index.ts';
import { ClientSocket } from './client-socket.ts';
import { Queue } from './queue.ts';

const name = { ownerId: 'own', deviceId: 'dev', clientId: 'client' };

/** A queue with rows in memory, and a client that reads everything. */
function createQueue(ids: string[], qos: 1 | 2) {
  const rows: MqttWaiting[] = ids.map((notificationId) => ({ notificationId, qos, messageId: null, state: 'publish' }));
  const sent: { notificationId: string; messageId: number }[] = [];
  const failures: unknown[] = [];
  const hooks = {
    beforeList: async (_count: number): Promise<void> => undefined,
    beforeUpdate: async (): Promise<void> => undefined,
    listed: 0,
  };
  const findPayload = async (_: string, id: string) => (ids.includes(id) ? Buffer.from(id) : null);
  const remove = (gone: readonly string[]): number => {
    const before = rows.length;
    for (const id of gone) {
      const index = rows.findIndex(({ notificationId }) => notificationId === id);
      if (index >= 0) rows.splice(index, 1);
    }
    return before - rows.length;
  };
  const queue = new Queue(name, 'topic', rows.length, {
    findPayload,
    now: () => 0,
    onFailed: (error) => failures.push(error),
    onRemoved: () => undefined,
    onExpired: () => undefined,
    rows: {
      async list(_, { limit, after = '' }) {
        const page = rows.filter(({ notificationId }) => notificationId > after).slice(0, limit);
        hooks.listed += 1;
        await hooks.beforeList(hooks.listed);
        return page;
      },
      listInFlight: async () => rows.filter(({ messageId }) => messageId !== null),
      update: () => hooks.beforeUpdate(),
      confirm: async (_, receipts) => remove(receipts.map(({ notificationId }) => notificationId)),
      remove: async (_, gone) => remove(gone),
    },
  });
  const stream = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _, done) {
      for (const packet of packetsOf(chunk)) {
        const { payload, messageId } = readPublish(packet);
        sent.push({ notificationId: payload.toString(), messageId: messageId as number });
      }
      done();
    },
  });
  const socket = new ClientSocket({ stream, qos: () => 2, drop: (reason) => failures.push(reason) });
  return { queue, socket, rows, sent, failures, hooks };
}

/** Waits until all work that needs no timer is done. */
async function turns(): Promise<void> {
  for (let count = 0; count < 5; count += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('A message that is acknowledged and removed while the store reads is not sent again', async () => {
  const { queue, socket, rows, sent, hooks } = createQueue(['n1'], 1);
  const gate = Promise.withResolvers<void>();
  hooks.beforeList = (count) => (count === 2 ? gate.promise : Promise.resolve());
  queue.attach(socket);
  await turns();
  assert.equal(sent.length, 1);
  queue.rowsAdded(1);
  await turns();
  assert.equal(hooks.listed, 2, 'the store is being read again');
  queue.completed(sent[0]?.messageId as number);
  await queue.flush();
  assert.deepEqual(rows, []);
  gate.resolve();
  await turns();
  assert.equal(sent.length, 1);
});

test('A message that arrives while the store reads is found by the next read', async () => {
  const { queue, socket, rows, sent, hooks } = createQueue([], 1);
  const gate = Promise.withResolvers<void>();
  hooks.beforeList = (count) => (count === 1 ? gate.promise : Promise.resolve());
  queue.rowsMayBeAdded();
  queue.attach(socket);
  await turns();
  assert.equal(hooks.listed, 1, 'the store is being read');
  rows.push({ notificationId: 'late', qos: 1, messageId: null, state: 'publish' });
  queue.arrived('late', 1, Buffer.from('late'));
  gate.resolve();
  await turns();
  assert.deepEqual(sent, [], 'its notification was deleted');
  await queue.flush();
  assert.deepEqual(rows, [], 'it was found and removed');
});

test('A message that arrives while the store reads is sent even if the page ends with a later one', async () => {
  const { queue, socket, rows, sent, hooks } = createQueue(['n1', 'n2'], 1);
  // The notification n1 is older than n2, but its row is committed after it.
  const [first] = rows.splice(0, 1);
  const gate = Promise.withResolvers<void>();
  hooks.beforeList = (count) => (count === 1 ? gate.promise : Promise.resolve());
  queue.attach(socket);
  await turns();
  rows.unshift(first as MqttWaiting);
  queue.arrived('n1', 1, Buffer.from('n1'));
  gate.resolve();
  await turns();
  assert.deepEqual(sent.map(({ notificationId }) => notificationId).sort(), ['n1', 'n2']);
});

test('A client that keeps up gets messages without a read of the store, those of one turn in one write', async () => {
  const { queue, socket, sent, hooks } = createQueue([], 1);
  queue.attach(socket);
  await turns();
  const { listed } = hooks;
  for (let index = 0; index < 50; index += 1) queue.arrived(`n${index}`, 1, Buffer.from(`n${index}`));
  assert.equal(sent.length, 0);
  await turns();
  assert.equal(sent.length, 50);
  assert.equal(hooks.listed, listed);
});

test('QoS 2 messages whose ids could not be stored are not sent until the store works again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { queue, socket, sent, failures, hooks } = createQueue(['n1', 'n2'], 2);
  hooks.beforeUpdate = () => Promise.reject(new StoreUnavailable('the disk is full'));
  queue.attach(socket);
  await turns();
  assert.deepEqual(sent, []);
  hooks.beforeUpdate = async () => undefined;
  t.mock.timers.tick(1000);
  await turns();
  assert.deepEqual(
    sent.map(({ notificationId }) => notificationId),
    ['n1', 'n2'],
  );
  assert.deepEqual(failures, []);
});

test('No two messages in flight have the same id, and none has the id of a copy', async () => {
  const { queue, socket, sent } = createQueue(['n1', 'n2', 'n3'], 1);
  queue.attach(socket);
  await turns();
  const ids = sent.map(({ messageId }) => messageId);
  assert.equal(new Set(ids).size, 3);
  assert.ok(ids.every((id) => id >= 1 && id <= 0x7fff));
});

test('A queue without messages is not read when its client connects; messages that arrive meanwhile are', async () => {
  const { queue, socket, rows, sent, hooks } = createQueue([], 1);
  queue.attach(socket);
  await turns();
  queue.detach(socket);
  queue.attach(socket);
  await turns();
  assert.equal(hooks.listed, 0);

  queue.arrived('n1', 1, Buffer.from('n1'));
  await turns();
  assert.deepEqual(
    sent.map(({ notificationId }) => notificationId),
    ['n1'],
  );
  queue.completed(sent[0]?.messageId as number);
  await queue.flush();
  queue.detach(socket);
  queue.attach(socket);
  await turns();
  assert.equal(hooks.listed, 0, 'it is empty again');

  queue.detach(socket);
  rows.push({ notificationId: 'n2', qos: 1, messageId: null, state: 'publish' });
  queue.arrived('n2', 1, Buffer.from('n2'));
  queue.attach(socket);
  await turns();
  assert.equal(hooks.listed, 1);
});

test('Messages that a session left to the queue of its device are read when the rows are counted', async () => {
  const { queue, socket, rows, hooks } = createQueue([], 1);
  queue.attach(socket);
  await turns();
  rows.push({ notificationId: 'n1', qos: 1, messageId: null, state: 'publish' });
  queue.countRows(1);
  await turns();
  assert.equal(hooks.listed, 1);
});
