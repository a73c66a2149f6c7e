// Notifications to one target arrive in the order of acceptance, also around outages and crashes: new ones are queued
// behind those already queued.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Load, overtaken, startLoad } from '@tocsin/test-support/arrival-order.ts';
import { clusterObstacle, startCluster } from '@tocsin/test-support/cluster.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install, installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { type Subscriber, startPhone } from '@tocsin/test-support/mqtt-subscriber.ts';
import { fcmToken } from '@tocsin/test-support/push-channel.ts';
import { FcmStandIn } from '@tocsin/test-support/push-fcm-stand-in.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import type { TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';

/**
 * Pause between two requests, so that fewer than a page are queued: beyond that email and push are sent concurrently.
 */
const smallBacklogMs = 400;

const idsAt = (phone: Subscriber): string[] =>
  phone.received.map(({ payload }) => (JSON.parse(payload) as { id: string }).id);
const idsIn = (smtp: TestSmtpServer): string[] =>
  smtp.emails.map(({ raw }) => /^Message-ID: <([0-9a-f-]{36})@/im.exec(raw)?.[1] ?? raw);

async function startBroker(t: TestContext): Promise<Mosquitto> {
  const settings = ['max_queued_messages 100000', 'max_inflight_messages 1'];
  const mosquitto = await Mosquitto.start({ isPersistent: true, settings });
  t.after(() => mosquitto.stop());
  return mosquitto;
}

/** Stops or freezes the broker a few times, under load. */
async function breakBroker(mosquitto: Mosquitto, load: Load): Promise<void> {
  const outages = isLongRun
    ? ['shutDown', 'freeze', 'shutDown', 'freeze', 'shutDown', 'shutDown']
    : ['shutDown', 'freeze'];
  for (const [round, how] of outages.entries()) {
    await load.moreAtOnce(30);
    if (how === 'freeze') mosquitto.freeze();
    else await mosquitto.shutDown();
    await load.more(20 + 20 * round);
    if (how === 'freeze') mosquitto.thaw();
    else await mosquitto.run();
  }
  await load.moreAtOnce(30);
}

/** Stops the load, and asserts that some of it was queued and none of it overtook older notifications. */
async function assertInOrder(t: TestContext, load: Load, idsSeen: () => string[]): Promise<void> {
  await load.stop();
  assert.deepEqual(await overtaken(load.accepted, idsSeen), [], `of ${load.accepted.length}`);
  assert.ok(load.scheduled > 0);
  t.diagnostic(`${load.accepted.length} accepted, ${load.scheduled} joined the queue or failed, 0 overtaken`);
}

for (const workers of ['1', '2']) {
  test(`No notification overtakes an older one to the same device while Mosquitto is stopped and restarted (${workers} worker)`, {
    timeout: 600_000,
  }, async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const mosquitto = await startBroker(t);
    const installation = await install(t, {
      TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
      TOCSIN_WORKERS: workers,
    });
    const gateway = await installation.serve();
    const { owner, device } = gateway.line.firstRun as { owner: string; device: { id: string } };
    const phone = await startPhone(t, mosquitto.port, owner, device.id);
    // Two workers have two connections to the broker: messages sent at the same moment have no order.
    const load = startLoad([gateway.api], gateway.key, workers === '1' ? 8 : 1, { title: 'x', mqttQos: 1 });
    await breakBroker(mosquitto, load);
    await assertInOrder(t, load, () => idsAt(phone));
    assert.deepEqual(await installation.json<unknown[]>('delivery', 'list', '--state', 'waiting'), []);
  });
}

test('No notification overtakes an older one to the same device on two nodes', { timeout: 600_000 }, async (t) => {
  if (!canRun(t, clusterObstacle())) return;
  const mosquitto = await startBroker(t);
  const { nodes, key, ownerId, deviceId } = await startCluster(t, 2, {
    TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
  });
  const phone = await startPhone(t, mosquitto.port, ownerId, deviceId);
  const apis = nodes.map(({ api }) => api);
  const load = startLoad(apis, key, 1, { title: 'x', mqttQos: 1 });
  await breakBroker(mosquitto, load);
  await assertInOrder(t, load, () => idsAt(phone));
});

test('No email overtakes an older one while the SMTP server is stopped and restarted', {
  timeout: 600_000,
}, async (t) => {
  const { installation, smtp } = await installWithSmtp(t, {
    TOCSIN_EMAIL_TIMEOUT_MS: '2000',
  });
  const gateway = await serveWithEmail(installation);
  const load = startLoad([gateway.api], gateway.key, 1, { title: 'x', sendMqtt: false }, smallBacklogMs);
  for (let round = 0; round < (isLongRun ? 3 : 1); round += 1) {
    await load.moreAtOnce(10);
    await smtp.kill();
    await load.more(8);
    await smtp.start();
  }
  await load.moreAtOnce(10);
  await assertInOrder(t, load, () => idsIn(smtp));
});

test('The queue of a mailbox drains under a load that the SMTP server can take when it is sent directly', {
  timeout: 300_000,
}, async (t) => {
  const { installation, smtp } = await installWithSmtp(t);
  const gateway = await serveWithEmail(installation);
  // Every email takes 200 ms, on up to five connections; twelve notifications a second come in.
  smtp.latencyMs = 200;
  const sent: boolean[] = [];
  const requests: Promise<unknown>[] = [];
  const load = setInterval(() => {
    const request = notify(gateway, { title: 'x', sendMqtt: false });
    requests.push(request.then(({ body }) => sent.push(body.emailSent)));
  }, 83);
  t.after(() => clearInterval(load));
  const more = (count: number) => {
    const wanted = sent.length + count;
    return eventually(
      'more responses',
      60_000,
      () => sent.length,
      (now) => now >= wanted,
    );
  };
  await more(12);
  await smtp.kill();
  await more(24);
  assert.equal(sent.at(-1), false, 'the mailbox has a queue');
  await smtp.start();
  await eventually(
    'emails are sent directly again, under the same load',
    90_000,
    () => sent.slice(-24),
    (last) => last.every((each) => each),
  );
  clearInterval(load);
  await Promise.all(requests);
  await eventually(
    'all emails arrive',
    30_000,
    () => new Set(idsIn(smtp)).size,
    (count) => count === requests.length,
  );
  const left = await installation.json<{ state: string }[]>('delivery', 'list');
  assert.deepEqual(left, [], 'no delivery is queued or dead');
});

test('No push overtakes an older one to the same phone while FCM fails and recovers', {
  timeout: 600_000,
}, async (t) => {
  const fcm = await FcmStandIn.start({
    get now() {
      return Date.now();
    },
  });
  t.after(() => fcm.server.stop());
  const installation = await install(t, { ...fcm.environment, TOCSIN_PUSH_TIMEOUT_MS: '1000' });
  const gateway = await installation.serve();
  await installation.json('push', 'add', '--provider', 'fcm', '--token', fcmToken('phone'));
  let isDown = false;
  fcm.replyToMessage = () => (isDown ? 'silence' : undefined);
  const load = startLoad([gateway.api], gateway.key, 1, { title: 'x', sendMqtt: false }, smallBacklogMs);
  for (let round = 0; round < (isLongRun ? 3 : 1); round += 1) {
    await load.moreAtOnce(10);
    isDown = true;
    await load.more(8);
    isDown = false;
  }
  await load.moreAtOnce(10);
  await assertInOrder(t, load, () => fcm.accepted.map(({ data }) => data.id as string));
});

test('Deliveries interrupted by a crash are sent before those accepted after the restart', {
  timeout: 600_000,
}, async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const mosquitto = await startBroker(t);
  const installation = await install(t, { TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}` });
  let gateway = await installation.serve();
  const { key } = gateway;
  const { owner, device } = gateway.line.firstRun as { owner: string; device: { id: string } };
  const phone = await startPhone(t, mosquitto.port, owner, device.id);
  const sentTitle = (title: string): boolean => phone.received.some(({ payload }) => payload.includes(`"${title}"`));
  for (let round = 0; round < 3; round += 1) {
    // The broker accepts nothing: these are stored, and in flight when the process is killed.
    mosquitto.freeze();
    const interrupted = Array.from({ length: 5 }, (_, count) => `interrupted ${round}-${count}`);
    const requests = interrupted.map((title) => notify({ api: gateway.api, key }, { title, mqttQos: 1 }));
    for (const request of requests) request.catch(() => undefined);
    const inbox = () => installation.json<{ title: string }[]>('inbox', 'list', '--limit', '100');
    await eventually(
      'all are stored',
      20_000,
      async () => (await inbox()).filter(({ title }) => title.startsWith(`interrupted ${round}-`)).length,
      (count) => count === interrupted.length,
    );
    await gateway.kill();
    mosquitto.thaw();
    gateway = await installation.serve();
    await notify({ api: gateway.api, key }, { title: `after ${round}`, mqttQos: 1 });
    await eventually(
      'all of them arrive',
      60_000,
      () => [...interrupted, `after ${round}`].filter((title) => !sentTitle(title)),
      (missing) => missing.length === 0,
    );
    const titles = phone.received.map(({ payload }) => (JSON.parse(payload) as { title: string }).title);
    const first = (title: string): number => titles.indexOf(title);
    for (const title of interrupted) assert.ok(first(title) < first(`after ${round}`), `${title} in ${titles}`);
  }
});

test('A queue that was being sent when the service was killed resumes right after the restart', {
  timeout: 300_000,
}, async (t) => {
  const { installation, smtp } = await installWithSmtp(t);
  const gateway = await serveWithEmail(installation);
  await smtp.kill();
  for (let count = 0; count < 5; count += 1) await notify(gateway, { title: 'x', sendMqtt: false });
  // The first of them is in flight, and does not complete.
  smtp.faults.data = 'stall';
  await smtp.start();
  await smtp.stalls(1);
  await gateway.kill();
  smtp.resume();
  const before = smtp.emails.length;
  const restartedAt = performance.now();
  await installation.serve();
  await eventually(
    'all of them arrive',
    60_000,
    () => new Set(idsIn(smtp).slice(before)).size,
    (count) => count === 5,
  );
  const tookMs = performance.now() - restartedAt;
  t.diagnostic(`all arrived ${Math.round(tookMs)} ms after the restart began`);
  assert.ok(tookMs < 25_000, `${tookMs} ms: the lease of a dead process lasts 30 s`);
});
