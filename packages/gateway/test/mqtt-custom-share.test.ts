// Custom brokers: one owner cannot occupy all connection slots.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { startSilentServer } from '@tocsin/test-support/mqtt-hostile-server.ts';

test('While one owner waits for 300 brokers that never respond, the broker of another owner is dialled', async (t) => {
  const [silent, other] = [await startSilentServer(), await startSilentServer()];
  t.after(() => {
    silent.stop();
    other.stop();
  });
  const installation = await install(t, { TOCSIN_MQTT_CUSTOM_ALLOW: '127.0.0.1/32' });
  const gateway = await installation.serve();
  const owner = await installation.json('owner', 'create', '--name', 'Second');
  const key = await installation.json('key', 'create', '--owner', owner.id as string);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const post = (value: string, port: number) =>
    fetch(gateway.api, {
      method: 'POST',
      headers: { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        title: 'Through my broker',
        body: 'Body',
        mqttConnection: { mode: 'custom' },
        mqttConfig: { url: `wss://127.0.0.1:${port}/mqtt`, topic: 'alerts' },
      }),
      signal: stop.signal,
    });
  const floods = Array.from({ length: 300 }, () => post(gateway.key, silent.port).catch(() => null));
  await eventually(
    'the first owner occupies its share',
    10_000,
    () => silent.connections,
    (count) => count >= 20,
  );
  const second = post(key.key as string, other.port);
  await eventually(
    'the broker of the second owner is dialled',
    20_000,
    () => other.connections,
    (count) => count === 1,
  );
  assert.ok(silent.connections < 100, `${silent.connections} slots were occupied by one owner`);
  assert.equal((await second).status, 200);
  stop.abort();
  await Promise.all(floods);
});
