// Providers that go down and recover while the gateway keeps running: every notification accepted meanwhile arrives.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { type Subscriber, startPhone } from '@tocsin/test-support/mqtt-subscriber.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import type { TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';

const recoveryMs = 60_000;

interface Setup {
  installation: Installation;
  gateway: GatewayProcess;
  mosquitto: Mosquitto;
  smtp: TestSmtpServer;
  phone: Subscriber;
}

async function build(t: TestContext): Promise<Setup> {
  const mosquitto = await Mosquitto.start({ isPersistent: true });
  t.after(() => mosquitto.stop());
  const { installation, smtp } = await installWithSmtp(t, {
    TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
    TOCSIN_EMAIL_TIMEOUT_MS: '2000',
  });
  const gateway = await serveWithEmail(installation);
  const { owner, device } = gateway.line.firstRun as { owner: string; device: { id: string } };
  const phone = await startPhone(t, mosquitto.port, owner, device.id);
  return { installation, gateway, mosquitto, smtp, phone };
}

const titlesAt = (phone: Subscriber): string[] =>
  phone.received.map(({ payload }) => (JSON.parse(payload) as { title: string }).title);
const titlesIn = (smtp: TestSmtpServer): string[] =>
  smtp.emails.map(({ raw }) => /^Subject: .*?(\w+ \d+)\r$/m.exec(raw)?.[1] ?? raw);

async function send(gateway: GatewayProcess, kind: string, count: number): Promise<string[]> {
  const titles = Array.from({ length: count }, (_, index) => `${kind} ${index}`);
  for (const title of titles) {
    const { status, body } = await notify(gateway, { title, mqttQos: 1 });
    assert.equal(status, 200);
    assert.equal(body.stored, true);
    assert.equal(body.warnings.includes('redelivery_scheduled'), kind === 'during', `${title}: ${body.warnings}`);
  }
  return titles;
}

function linesWith(gateway: GatewayProcess, text: string): number {
  return gateway.log.split('\n').filter((line) => line.includes(text)).length;
}

/** Waits until all have arrived, and then a little longer, to catch duplicates. */
async function settled(what: string, seen: () => string[], wanted: readonly string[]): Promise<string[]> {
  await eventually(
    what,
    recoveryMs,
    () => wanted.filter((title) => !seen().includes(title)),
    (missing) => missing.length === 0,
  );
  return seen();
}

/** The sum of a counter over the matching labels. */
async function counted(gateway: GatewayProcess, metric: string, ...labels: string[]): Promise<number> {
  const text = await (await fetch(new URL('/metrics', gateway.line.console))).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) && labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

test('While broker and SMTP server are down everything is accepted, and arrives once, in order, when they are back', {
  timeout: 180_000,
}, async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const { installation, gateway, mosquitto, smtp, phone } = await build(t);
  const before = await send(gateway, 'before', 5);
  await mosquitto.shutDown();
  await smtp.kill();
  await eventually(
    'the gateway notices',
    10_000,
    () => gateway.log.includes('no connection to the MQTT broker'),
    Boolean,
  );
  const during = await send(gateway, 'during', 30);
  const waiting = await installation.json<{ state: string; channel: string }[]>(
    'delivery',
    'list',
    '--state',
    'waiting',
  );
  assert.equal(waiting.filter(({ channel }) => channel === 'mqtt').length, 30);
  assert.equal(waiting.filter(({ channel }) => channel === 'email').length, 30);
  for (const channel of ['email', 'MQTT']) {
    const down = () => linesWith(gateway, `${channel} channel down; `);
    assert.equal(await eventually('the log reports it', 5000, down, (count) => count > 0), 1, gateway.log);
  }
  await mosquitto.run();
  await smtp.start();
  const backAt = performance.now();
  const wanted = [...before, ...during];
  const onPhone = await settled('everything on the phone', () => titlesAt(phone), wanted);
  t.diagnostic(`on the phone ${((performance.now() - backAt) / 1000).toFixed(1)} s after the broker was back`);
  const inMailbox = await settled('everything in the mailbox', () => titlesIn(smtp), wanted);
  t.diagnostic(`in the mailbox ${((performance.now() - backAt) / 1000).toFixed(1)} s after the SMTP server was back`);
  assert.deepEqual(onPhone, wanted, 'once each, in the order of acceptance');
  assert.deepEqual(inMailbox, wanted, 'the emails too');
  // A message arrives before its result is stored; until then its queue exists, and later notifications join it.
  await eventually(
    'the queues are empty',
    10_000,
    () => installation.json<unknown[]>('delivery', 'list', '--state', 'waiting'),
    (waiting) => waiting.length === 0,
  );
  const after = await send(gateway, 'after', 5);
  assert.deepEqual(await settled('the notifications after the outage', () => titlesAt(phone), after), [
    ...wanted,
    ...after,
  ]);

  for (const channel of ['email', 'MQTT']) {
    assert.equal(linesWith(gateway, `${channel} channel down; `), 1, gateway.log);
    const recovered = () => linesWith(gateway, `${channel} channel recovered`);
    assert.equal(await eventually('the log reports it', 5000, recovered, (count) => count > 0), 1, gateway.log);
  }
  const left = await installation.json<{ state: string }[]>('delivery', 'list', '--state', 'waiting');
  assert.deepEqual(left, []);
  for (const [channel, seen] of [
    ['mqtt', phone.received.length],
    ['email', smtp.emails.length],
  ] as const) {
    const sent = await counted(gateway, 'tocsin_channel_outcomes_total', `channel="${channel}"`, 'kind="sent"');
    assert.equal(sent, seen, `the counter of ${channel} agrees with what was received`);
  }
});
