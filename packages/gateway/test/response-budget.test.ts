// A provider that hangs delays a response at most by its budget, and sends that end later are recorded.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { fakeClockObstacle, withClockOff } from '@tocsin/test-support/fake-clock.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { installWithSmtp, serveWithEmail } from '@tocsin/test-support/install.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { Subscriber } from '@tocsin/test-support/mqtt-subscriber.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import type { TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';

interface Row {
  channel: string;
  state: string;
  error: string;
}

async function build(t: TestContext, environment: Record<string, string> = {}, clock: Record<string, string> = {}) {
  const { installation, smtp } = await installWithSmtp(t, {
    TOCSIN_RESPONSE_BUDGET_MS: '300',
    ...environment,
  });
  const gateway = await serveWithEmail(installation, clock);
  return { smtp, installation, gateway };
}

const emailOnly = (title: string) => ({ title, sendMqtt: false });
const list = (installation: Installation, ...more: string[]) => installation.json<Row[]>('delivery', 'list', ...more);
const titles = (smtp: TestSmtpServer): string[] =>
  smtp.emails.map(({ raw }) => /^Subject: .*?([a-z]+)\r$/m.exec(raw)?.[1] ?? raw);

async function sendSlowly(gateway: GatewayProcess, title: string) {
  const startedAt = performance.now();
  const { status, body } = await notify(gateway, emailOnly(title));
  assert.equal(status, 200);
  assert.equal(body.emailSent, false);
  assert.deepEqual(body.warnings, ['email_send_failed', 'redelivery_scheduled']);
  return performance.now() - startedAt;
}

test('An SMTP server that hangs delays the first response by its budget, and the next ones not at all', {
  timeout: 120_000,
}, async (t) => {
  const { smtp, installation, gateway } = await build(t);
  smtp.faults.greeting = 'stall';
  for (const title of ['first', 'second', 'third', 'fourth']) {
    const ms = await sendSlowly(gateway, title);
    // The SMTP timeout is 8 s; on a busy machine a budget of 0.3 s may well take a few.
    assert.ok(ms < 6000, `${title} took ${ms} ms`);
    t.diagnostic(`${title}: ${ms.toFixed(0)} ms`);
  }
  const waiting = (await list(installation)).filter(({ state }) => state === 'waiting');
  assert.equal(waiting.length, 4, 'all four are listed');
  smtp.resume();
  await eventually(
    'all arrive, in order, once',
    90_000,
    () => titles(smtp),
    (seen) => seen.length === 4,
  );
  assert.deepEqual(titles(smtp), ['first', 'second', 'third', 'fourth']);
});

test('An email that the server accepts after the response is recorded as sent, and not sent again', {
  timeout: 120_000,
}, async (t) => {
  const { smtp, installation, gateway } = await build(t);
  smtp.faults.data = 'stall';
  await sendSlowly(gateway, 'late');
  await smtp.stalls(1);
  assert.deepEqual(
    (await list(installation)).map(({ channel, state }) => [channel, state]),
    [['email', 'waiting']],
  );
  smtp.resume();
  await eventually(
    'it is recorded as sent',
    60_000,
    async () => (await list(installation, '--state', 'sent')).map(({ state }) => state),
    ([state]) => state === 'sent',
  );
  const { body } = await notify(gateway, emailOnly('next'));
  assert.equal(body.emailSent, true, 'and the next one is sent at once');
  assert.deepEqual(titles(smtp), ['late', 'next'], 'once each');
});

test('An email that the server refuses after the response is recorded as dead', { timeout: 120_000 }, async (t) => {
  const { smtp, installation, gateway } = await build(t);
  smtp.faults.rcpt = 'stall';
  await sendSlowly(gateway, 'late');
  await smtp.stalls(1);
  smtp.faults.data = 554;
  delete smtp.faults.rcpt;
  smtp.proceed();
  const [row] = await eventually(
    'it is recorded as dead',
    60_000,
    () => list(installation),
    ([first]) => first?.state === 'dead',
  );
  assert.match(row?.error ?? '', /refused/);
});

test('A late email of a process that is killed while sending it is sent by the next process', {
  timeout: 180_000,
}, async (t) => {
  // Its lease of 30 s is based on its own clock: for the next process, whose clock is right, it ends within a few seconds.
  const isShort = !isLongRun && fakeClockObstacle() === null;
  const { smtp, installation, gateway } = await build(t, {}, isShort ? withClockOff('-26s') : {});
  const { key } = gateway;
  smtp.faults.data = 'stall';
  await sendSlowly(gateway, 'late');
  await smtp.stalls(1);
  await gateway.kill();
  for (const step of ['data', 'greeting'] as const) delete smtp.faults[step];
  const again = await installation.serve();
  await notify({ api: again.api, key }, emailOnly('next'));
  await eventually(
    'both arrive, in order',
    90_000,
    () => titles(smtp),
    (seen) => seen.includes('next'),
  );
  assert.deepEqual(titles(smtp), ['late', 'next']);
});

test('A strict publish that exceeds its budget gets a 502, and is not sent later', {
  timeout: 120_000,
}, async (t) => {
  if (!canRun(t, mosquittoObstacle())) return;
  const mosquitto = await Mosquitto.start();
  t.after(() => mosquitto.stop());
  const { installation, gateway } = await build(t, {
    TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
    TOCSIN_MQTT_TIMEOUT_MS: '9000',
  });
  const { owner, device } = gateway.line.firstRun as { owner: string; device: { id: string } };
  const strict = { title: 'strict', strictDelivery: true, mqttQos: 1, sendEmail: false };
  assert.equal((await notify(gateway, { ...strict, title: 'before' })).status, 200);
  mosquitto.freeze();
  const { status, body } = await notify(gateway, strict);
  assert.equal(status, 502);
  assert.equal(body.code, 'mqtt_publish_failed');
  assert.ok(!body.warnings.includes('redelivery_scheduled'));
  const rows = await list(installation);
  assert.deepEqual(
    rows.map(({ channel, state }) => [channel, state]),
    [['mqtt', 'dead']],
  );
  mosquitto.thaw();
  const phone = await Subscriber.start(mosquitto.port, `tocsin/${owner}/${device.id}/notifications`);
  t.after(() => phone.stop());
  await eventually(
    'the broker has recovered',
    30_000,
    async () => (await notify(gateway, { ...strict, title: 'after' })).status,
    (now) => now === 200,
  );
  const seen = () => phone.received.map(({ payload }) => (JSON.parse(payload) as { title: string }).title);
  await eventually('the next notification arrives', 10_000, seen, (all) => all.includes('after'));
  assert.ok(!seen().includes('strict'));
});
