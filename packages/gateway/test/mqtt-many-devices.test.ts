// Many devices behind one address: all of them connect at once, as after a restart, and each gets what is for it, in order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawClient, readPublish } from '@tocsin/test-support/embedded-raw-client.ts';
import { install } from '@tocsin/test-support/install.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { openStore } from '../src/store/open-store.ts';
import type { Store } from '../src/usecases/ports/index.ts';
import { type CreatedDevice, createDevice, createOwner, systemEnvironment } from '../src/usecases/registration.ts';

/** More than one address may have connections that have not sent CONNECT. */
const others = 1400;
const devicesOfOwner = 100;

test('1,500 devices connect at once, and a notification reaches the 100 devices of its owner in order', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve();
  const { owner, device: first } = gateway.line.firstRun as { owner: string; device: { id: string } };
  await installation.json('device', 'delete', first.id);
  const store = await openStore({ dataDir: installation.dataDir, databaseUrl: null, masterKey: null }, 'existing');
  const { id: otherOwner } = await createOwner(store, systemEnvironment, {
    ...{ name: 'Other', email: null, emailAlerts: false },
  });
  const created = [
    ...(await createDevices(store, owner, devicesOfOwner)),
    ...(await createDevices(store, otherOwner, others)),
  ];
  await store.close();

  const port = Number(new URL(gateway.line.mqtt as string).port);
  const clients = await Promise.all(created.map((device) => connectDevice(port, device)));

  const titles = ['first', 'second', 'third'];
  for (const title of titles) {
    const { body } = await notify(gateway, { title });
    assert.equal((body as { mqttPublishedCount: number }).mqttPublishedCount, devicesOfOwner);
  }
  for (const client of clients.slice(0, devicesOfOwner)) {
    const received: string[] = [];
    for (const _ of titles) {
      const { payload, messageId } = readPublish(await client.next('publish'));
      client.confirm('puback', messageId as number);
      received.push((JSON.parse(payload.toString()) as { title: string }).title);
    }
    assert.deepEqual(received, titles);
  }
  for (const client of clients) {
    await client.ping();
    assert.deepEqual(client.packets, [], 'nothing else arrived');
    await client.end();
  }
});

function createDevices(store: Store, ownerId: string, count: number): Promise<CreatedDevice['mqtt'][]> {
  return Promise.all(
    Array.from({ length: count }, async (_, number) => {
      const wanted = { ownerId, name: `Device ${number}`, topicPrefix: 'tocsin', urls: [] };
      return (await createDevice(store, systemEnvironment, wanted)).mqtt;
    }),
  );
}

async function connectDevice(port: number, { username, password, topic }: CreatedDevice['mqtt']): Promise<RawClient> {
  const client = await RawClient.signIn(port, { id: username, secret: password }, { clean: false });
  assert.deepEqual(await client.subscribe([topic], 1), [1]);
  return client;
}
