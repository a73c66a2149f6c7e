// What depends on the order of events that no client can bring about at will.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from 'aedes';
import { type MqttWaiting, StoreUnavailable } from '../../../gateway/ports.ts';
import { Payloads } from './payloads.ts';
import { Session } from './session.ts';
import { topicsOf } from './topic-access.ts';

const name = { ownerId: 'own', deviceId: 'dev', clientId: 'client' };

/** A session over rows in memory, and a client that takes everything. */
function createSession(ids: string[], qos: 1 | 2) {
  const rows: MqttWaiting[] = ids.map((notificationId) => ({ notificationId, qos, messageId: null, state: 'publish' }));
  const sent: { notificationId: string; messageId: number }[] = [];
  const failures: unknown[] = [];
  const hooks = {
    beforeList: async (_count: number): Promise<void> => undefined,
    beforeUpdate: async (): Promise<void> => undefined,
    listed: 0,
  };
  const payloads = new Payloads({ findNotification: async () => null });
  for (const id of ids) payloads.remember(name.ownerId, id, Buffer.from(id));
  const session = new Session(name, topicsOf('tocsin', 'own', 'dev'), [], 0, {
    payloads,
    onFailed: (error) => failures.push(error),
    store: {
      async listMqttWaiting(_, limit) {
        const page = rows.slice(0, limit).map((row) => ({ ...row }));
        hooks.listed += 1;
        await hooks.beforeList(hooks.listed);
        return page;
      },
      listMqttInFlight: async () => rows.filter(({ messageId }) => messageId !== null),
      updateMqttWaiting: () => hooks.beforeUpdate(),
      async removeMqttWaiting(_, gone) {
        for (const id of gone)
          rows.splice(
            rows.findIndex(({ notificationId }) => notificationId === id),
            1,
          );
      },
    },
  });
  const publish = (packet: { payload: Buffer; messageId?: number }, done: () => void): void => {
    session.prepare(packet);
    sent.push({ notificationId: packet.payload.toString(), messageId: packet.messageId as number });
    done();
  };
  return { session, client: { publish } as unknown as Client, rows, sent, failures, hooks };
}

/** Lets everything run that waits for nothing but its turn. */
const turns = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('A message that is confirmed and removed while the store reads is not sent again', async () => {
  const { session, client, rows, sent, hooks } = createSession(['n1'], 1);
  const gate = Promise.withResolvers<void>();
  hooks.beforeList = (count) => (count === 2 ? gate.promise : Promise.resolve());
  session.attach(client);
  await turns();
  assert.deepEqual([sent.length, hooks.listed], [1, 2], 'it was sent, and the store is being read');
  session.completed(sent[0]?.messageId as number);
  await turns();
  assert.deepEqual(rows, []);
  gate.resolve();
  await turns();
  assert.equal(sent.length, 1);
});

test('A message that arrives while the store reads is found by another read', async () => {
  const { session, client, rows, sent, hooks } = createSession([], 1);
  const gate = Promise.withResolvers<void>();
  hooks.beforeList = (count) => (count === 1 ? gate.promise : Promise.resolve());
  session.attach(client);
  rows.push({ notificationId: 'late', qos: 1, messageId: null, state: 'publish' });
  session.arrived();
  gate.resolve();
  await turns();
  assert.deepEqual(sent, [], 'its text is no more');
  assert.deepEqual(rows, [], 'it was found and settled');
});

test('QoS 2 messages whose ids could not be stored are not sent, and come once the store works again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { session, client, sent, failures, hooks } = createSession(['n1', 'n2'], 2);
  hooks.beforeUpdate = () => Promise.reject(new StoreUnavailable('the disk is full'));
  session.attach(client);
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

test('No two messages on their way have the same id', async () => {
  const { session, client, sent } = createSession(['n1', 'n2', 'n3'], 1);
  session.attach(client);
  await turns();
  const ids = sent.map(({ messageId }) => messageId);
  assert.equal(new Set(ids).size, 3);
  assert.ok(ids.every((id) => id >= 1 && id <= 65_535));
});
