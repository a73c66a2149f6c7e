// Failed deliveries are retried: only the failed ones, in order, until they succeed or are dead.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { channelsWith, type LocalGateway, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import type { EmailTarget } from '../src/channels/email/target.ts';
import type { MqttTarget } from '../src/channels/mqtt/target.ts';
import { channels as definitions } from '../src/channels/registry.ts';
import type { Channel, ChannelTarget } from '../src/core/channel.ts';
import type { Outcome } from '../src/core/outcome.ts';
import type { PushTarget } from '../src/core/recipients.ts';
import { createIsReceived } from '../src/delivery/receipts.ts';
import { type Redelivery, startRedelivery } from '../src/delivery/redeliver.ts';
import { openStore } from '../src/store/open-store.ts';
import { type Delivery, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createDevice, systemEnvironment } from '../src/usecases/registration.ts';

const unreachable: Outcome = { kind: 'retry', reason: 'unreachable', error: 'The provider is not reachable' };
const busy: Outcome = { kind: 'retry', reason: 'deferred', error: 'The provider wants it later' };
const sent: Outcome = { kind: 'sent' };
const hourMs = 3_600_000;

/** A channel whose outcome the test sets; records the titles of sent notifications. */
class SwitchableChannel<Target extends ChannelTarget> implements Channel<Target> {
  outcome: (title: string, target: Target) => Outcome = () => sent;
  readonly arrived: string[] = [];
  attempts = 0;

  async send(...[notification, targets]: Parameters<Channel<Target>['send']>) {
    return targets.map((target) => {
      this.attempts += 1;
      const outcome = this.outcome(notification.content.title, target);
      if (outcome.kind === 'sent') this.arrived.push(notification.content.title);
      return outcome;
    });
  }
}

suite('Redelivery', () => {
  let gateway: LocalGateway;
  let mqtt: SwitchableChannel<MqttTarget>;
  let email: SwitchableChannel<EmailTarget>;
  let push: SwitchableChannel<PushTarget>;
  let deviceId: string;
  let redelivery: Redelivery;
  let failures: unknown[];
  let deadDeliveries: Delivery[];

  beforeEach(async () => {
    [mqtt, email, push] = [new SwitchableChannel(), new SwitchableChannel(), new SwitchableChannel()];
    gateway = await startLocalGateway({ channels: { mqtt, email, push }, maxWaitingPerOwner: 20 });
    const { store, ownerId, clock } = gateway;
    await store.owners.update(plainOwner(ownerId, clock.now, { email: 'ann@example.com', emailAlerts: true }));
    deviceId = (await addDevice()).id;
    [failures, deadDeliveries] = [[], []];
    startOver();
  });
  afterEach(async () => {
    await redelivery.close();
    await gateway.stop();
    assert.deepEqual(failures, []);
    assert.deepEqual(gateway.failures, []);
  });

  /** Starts again with another quota of an owner. */
  async function allowWaiting(maxWaitingPerOwner: number): Promise<void> {
    await gateway.stop();
    await redelivery.close();
    gateway = await startLocalGateway({ channels: { mqtt, email, push }, maxWaitingPerOwner });
    deviceId = (await addDevice()).id;
    startOver();
  }

  function startOver(): void {
    const { store, clock, lifecycle } = gateway;
    const now = (): number => clock.now;
    const onFailed = (error: unknown): void => void failures.push(error);
    const random = (): number => 0.5;
    const onDead = (delivery: Delivery): void => void deadDeliveries.push(delivery);
    redelivery = startRedelivery({
      ...{
        store,
        lifecycle,
        now,
        random,
        onFailed,
        onDead,
        isReceived: createIsReceived(store, definitions, () => true),
      },
      channels: channelsWith({ mqtt, email, push }),
    });
  }

  async function addDevice() {
    const { store, ownerId } = gateway;
    const wanted = { ownerId, name: 'Phone', topicPrefix: 'tocsin', urls: [] };
    return (await createDevice(store, systemEnvironment, wanted)).device;
  }

  async function post(title: string, more: object = {}) {
    return (await notify(gateway, { title, sendPush: false, sendEmail: false, ...more })).body;
  }

  async function passTime(ms: number): Promise<void> {
    gateway.clock.now += ms;
    await redelivery.turn();
  }

  const deliveries = () => gateway.store.deliveries.list({ ownerId: gateway.ownerId, limit: 100 });

  test('retries temporary failures, and reports it in the response', async () => {
    mqtt.outcome = () => unreachable;
    const answer = await post('later');
    assert.equal(answer.mqttFailedCount, 1);
    assert.deepEqual(answer.warnings, ['mqtt_publish_failed_partial', 'redelivery_scheduled']);
    mqtt.outcome = () => sent;
    await passTime(4999);
    assert.deepEqual(mqtt.arrived, []);
    await passTime(1);
    assert.deepEqual(mqtt.arrived, ['later']);
    await passTime(hourMs);
    assert.deepEqual(mqtt.arrived, ['later'], 'once');
    const [delivery] = await deliveries();
    assert.equal(delivery?.state, 'sent');
    assert.equal(delivery?.attempts, 1);
  });

  test('does not resend a message that the device has acknowledged, also if the device is paused', async () => {
    mqtt.outcome = () => unreachable;
    const { id: notificationId } = await post('acknowledged');
    const { store, ownerId, clock } = gateway;
    const queue = { ownerId, deviceId, clientId: '' };
    await store.mqttQueues.enqueue([{ queue, notificationId, qos: 1 }]);
    await store.mqttQueues.confirm(queue, [{ notificationId, deliveredAt: clock.now, qos: 1 }]);
    await store.devices.change(deviceId, { paused: true });
    const before = mqtt.attempts;
    await passTime(5000);
    const [delivery] = await deliveries();
    assert.equal(delivery?.state, 'sent');
    assert.equal(mqtt.attempts, before);
  });

  test('does not mention redelivery if everything was delivered', async () => {
    assert.deepEqual((await post('now')).warnings, []);
    await passTime(hourMs);
    assert.deepEqual(mqtt.arrived, ['now']);
  });

  test('retries only the channel and target that failed', async () => {
    const other = (await addDevice()).id;
    mqtt.outcome = (_, target) => (target.id === other ? unreachable : sent);
    email.outcome = () => unreachable;
    await post('x', { sendEmail: true });
    assert.deepEqual(mqtt.arrived, ['x']);
    mqtt.outcome = () => sent;
    email.outcome = () => sent;
    await passTime(5000);
    assert.deepEqual(mqtt.arrived, ['x', 'x'], 'one for each device');
    assert.equal(mqtt.attempts, 3);
    assert.deepEqual(email.arrived, ['x']);
  });

  test('retries after 5 s, 30 s, 2 min, 10 min, 1 h, 3 h and 6 h, is dead after a day, and shows it', async () => {
    mqtt.outcome = () => unreachable;
    await post('never');
    const start = gateway.clock.now;
    const turns: number[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      const [delivery] = await deliveries();
      if (delivery?.nextAt == null) break;
      turns.push((delivery.nextAt - gateway.clock.now) / 1000);
      const before = mqtt.attempts;
      await passTime(delivery.nextAt - gateway.clock.now - 1);
      assert.equal(mqtt.attempts, before, 'not before it is due');
      await passTime(1);
      assert.equal(mqtt.attempts, before + 1);
    }
    assert.deepEqual(turns.slice(0, 9), [5, 30, 120, 600, 3600, 10_800, 21_600, 21_600, 21_600]);
    assert.equal(gateway.clock.now - start, 24 * hourMs);
    const [dead] = await deliveries();
    assert.equal(dead?.state, 'dead');
    assert.equal(dead?.error, 'The provider is not reachable');
    assert.equal(dead?.endedAt, gateway.clock.now);
    assert.equal(deadDeliveries.length, 1);
    await passTime(hourMs);
    assert.equal(mqtt.attempts, turns.length + 1, 'a dead delivery is not retried');
    const [first] = await deliveries();
    await gateway.store.deliveries.retry([first as Delivery], gateway.clock.now);
    mqtt.outcome = () => sent;
    await passTime(0);
    assert.deepEqual(mqtt.arrived, ['never'], 'until it is retried by hand');
  });

  test('waits as long as the provider asks', async () => {
    mqtt.outcome = () => ({ ...busy, retryAfterMs: 60_000 });
    await post('x');
    mqtt.outcome = () => sent;
    await passTime(59_999);
    assert.deepEqual(mqtt.arrived, []);
    await passTime(1);
    assert.deepEqual(mqtt.arrived, ['x']);
  });

  test('retries a delivery that the provider delayed no earlier, whatever else is due or recovers', async () => {
    mqtt.outcome = (title) => (title === 'delayed' ? { ...busy, retryAfterMs: hourMs } : unreachable);
    await post('delayed');
    await post('down');
    const asked: string[] = [];
    mqtt.outcome = (title) => {
      asked.push(title);
      return title === 'delayed' ? busy : sent;
    };
    await passTime(5000);
    await post('fresh');
    for (let turn = 0; turn < 5; turn += 1) await passTime(10_000);
    assert.deepEqual(asked, ['down', 'fresh']);
    await passTime(hourMs);
    assert.equal(asked.at(-1), 'delayed');
  });

  test('records sent deliveries despite failures of the store, so that nothing is sent twice', async () => {
    mqtt.outcome = () => unreachable;
    for (const title of ['a', 'b', 'c']) await post(title);
    mqtt.outcome = () => sent;
    const { store } = gateway;
    const { find } = store.notifications;
    const { update } = store.deliveries;
    let reads = 0;
    store.notifications.find = (...asked) => {
      reads += 1;
      return reads === 2 ? Promise.reject(new StoreUnavailable('stumbles')) : find(...asked);
    };
    let writes = 0;
    store.deliveries.update = (...changed) => {
      writes += 1;
      return writes === 1 ? Promise.reject(new StoreUnavailable('stumbles')) : update(...changed);
    };
    await passTime(5000);
    await passTime(40_000);
    assert.deepEqual(mqtt.arrived, ['a', 'b', 'c']);
    assert.ok(failures.splice(0).every((error) => error instanceof StoreUnavailable));
  });

  test('resumes nothing that this process is still sending, wherever the clock jumps', async () => {
    const let_go = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    mqtt.outcome = () => sent;
    const { send } = mqtt;
    mqtt.send = async (...sending) => {
      entered.resolve();
      await let_go.promise;
      return send.apply(mqtt, sending);
    };
    const answer = post('slow');
    await entered.promise;
    mqtt.send = send;
    await passTime(hourMs);
    let_go.resolve();
    await answer;
    await passTime(hourMs);
    assert.deepEqual(mqtt.arrived, ['slow']);
  });

  test('a provider that is no longer configured loses none of its queued deliveries', async () => {
    email.outcome = () => unreachable;
    await post('x', { sendEmail: true });
    email.outcome = () => ({ kind: 'rejected', reason: 'not_configured', error: 'No SMTP server is configured' });
    await passTime(5000);
    await passTime(60_000);
    email.outcome = () => sent;
    await passTime(60_000);
    assert.deepEqual(email.arrived, ['x']);
  });

  test('the outcome of a custom broker does not affect the state of the platform broker', async () => {
    mqtt.outcome = () => unreachable;
    await post('waiting');
    await passTime(5000);
    const custom = { mqttConnection: { mode: 'custom' }, mqttConfig: { host: 'broker.example.com', topic: 'x' } };
    mqtt.outcome = (_, target) => ('topic' in target ? sent : unreachable);
    await post('custom', custom);
    const before = mqtt.attempts;
    await passTime(1000);
    assert.equal(mqtt.attempts, before);
  });

  test('delivers in the order of acceptance, whatever their due times, with one probe for all that are due', async () => {
    mqtt.outcome = () => unreachable;
    for (let count = 0; count < 4; count += 1) {
      await post(`${count}`);
      await passTime(3000);
    }
    const before = mqtt.attempts;
    await passTime(60_000);
    assert.equal(mqtt.attempts, before + 1, 'the first is the probe for all');
    mqtt.outcome = () => sent;
    await passTime(3 * hourMs);
    assert.deepEqual(mqtt.arrived, ['0', '1', '2', '3']);
  });

  test('retries everything at once if the channel works again', async () => {
    const other = await addDevice();
    mqtt.outcome = () => unreachable;
    for (const title of ['a', 'b']) await post(title, { deviceId });
    await passTime(5000);
    await passTime(30_000);
    mqtt.outcome = () => sent;
    await post('fresh', { deviceId: other.id });
    await eventually(
      'queued deliveries are retried',
      5000,
      () => redelivery.turn(),
      () => mqtt.arrived.length === 3,
    );
    assert.deepEqual(mqtt.arrived, ['fresh', 'a', 'b'], 'another device shows that the broker has recovered');
  });

  test('a new notification joins the queue of its target instead of overtaking it, and the response reports it', async () => {
    mqtt.outcome = () => unreachable;
    for (const title of ['a', 'b']) await post(title);
    mqtt.outcome = () => sent;
    const answer = await post('c');
    assert.equal(answer.mqttPublishedCount, 0);
    assert.equal(answer.mqttFailedCount, 1);
    assert.deepEqual(answer.warnings, ['mqtt_publish_failed_partial', 'redelivery_scheduled']);
    assert.match(answer.mqttError ?? '', /Earlier notifications/);
    const waiting = (await deliveries()).filter(({ state }) => state === 'waiting');
    assert.equal(waiting.length, 3, 'and it is in the list of waiting deliveries');
    await passTime(5000);
    assert.deepEqual(mqtt.arrived, ['a', 'b', 'c']);
    assert.deepEqual((await post('d')).warnings, [], 'then the queue is empty');
    assert.deepEqual(mqtt.arrived, ['a', 'b', 'c', 'd']);
  });

  test('the queue of one target delays no other target and no other channel', async () => {
    const other = (await addDevice()).id;
    mqtt.outcome = (_, target) => (target.id === other ? unreachable : sent);
    await post('a');
    const { warnings, mqttPublishedCount, mqttFailedCount, emailSent } = await post('b', { sendEmail: true });
    assert.deepEqual([mqttPublishedCount, mqttFailedCount, emailSent], [1, 1, true]);
    assert.ok(warnings.includes('redelivery_scheduled'));
    assert.deepEqual(mqtt.arrived, ['a', 'b']);
    assert.deepEqual(email.arrived, ['b']);
  });

  test('a single delivery that the provider delayed starts no queue', async () => {
    mqtt.outcome = (title) => (title === 'delayed' ? { ...busy, retryAfterMs: hourMs } : sent);
    await post('delayed');
    assert.deepEqual((await post('next')).warnings, []);
    assert.deepEqual(mqtt.arrived, ['next']);
  });

  test('a strict caller gets a 502 instead of joining the queue, and nothing is sent later', async () => {
    mqtt.outcome = () => unreachable;
    await post('a');
    mqtt.outcome = () => sent;
    const { status, body } = await notify(gateway, { title: 'strict', strictDelivery: true, sendPush: false });
    assert.equal(status, 502);
    assert.equal(body.code, 'mqtt_publish_failed');
    assert.ok(!body.warnings.includes('redelivery_scheduled'));
    await passTime(hourMs);
    assert.deepEqual(mqtt.arrived, ['a']);
    const strict = { title: 'strict again', strictDelivery: true, sendPush: false, sendEmail: false };
    assert.equal((await notify(gateway, strict)).status, 200, 'once the queue is empty it is published');
    assert.deepEqual(mqtt.arrived, ['a', 'strict again']);
  });

  test('deliveries that join a queue count towards the quota', async () => {
    mqtt.outcome = () => unreachable;
    for (let count = 0; count < 15; count += 1) await post(`${count}`);
    mqtt.outcome = () => sent;
    const answers = [];
    for (let count = 15; count < 25; count += 1) answers.push(await post(`${count}`));
    assert.equal(answers.filter(({ warnings }) => warnings.includes('redelivery_scheduled')).length, 5);
    await gateway.lifecycle.writer.flush();
    const dead = (await deliveries()).filter(({ state }) => state === 'dead');
    assert.equal(dead.length, 5);
    assert.match(dead[0]?.error ?? '', /too many deliveries of this owner wait/);
    await passTime(5000);
    assert.equal(mqtt.arrived.length, 20);
  });

  test('callers that arrive while a queue ends keep their order, whether queued or sent directly', async () => {
    await allowWaiting(10_000);
    mqtt.outcome = () => unreachable;
    await post('first');
    mqtt.outcome = () => sent;
    gateway.clock.now += 5000;
    let isOver = false;
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let count = 0; !isOver; count += 1) await post(`${caller}-${count}`);
    });
    await redelivery.turn();
    await eventually(
      'callers send directly again',
      30_000,
      async () => gateway.lifecycle.queues.isEmpty,
      (isEmpty) => isEmpty,
    );
    isOver = true;
    await Promise.all(callers);
    await redelivery.turn();
    const { notifications } = await gateway.store.notifications.list(gateway.ownerId, { limit: 5000, after: '' });
    assert.deepEqual(
      mqtt.arrived,
      notifications.map(({ content }) => content.title),
    );
  });

  test('one message that is deferred does not delay the messages behind it', async () => {
    mqtt.outcome = (title) => (title === 'awkward' ? busy : unreachable);
    await post('awkward');
    await post('plain');
    mqtt.outcome = (title) => (title === 'awkward' ? busy : sent);
    await passTime(5000);
    assert.deepEqual(mqtt.arrived, ['plain']);
    mqtt.outcome = () => sent;
    await passTime(30_000);
    assert.deepEqual(mqtt.arrived, ['plain', 'awkward']);
  });

  test('attempts each of many deferred deliveries once per run, and continues through a slow queue', async () => {
    mqtt.outcome = () => unreachable;
    const titles = Array.from({ length: 60 }, (_, count) => `${count}`);
    await allowWaiting(100);
    for (const title of titles) await post(title);
    const before = mqtt.attempts;
    // Every send takes time: without renewal the lease would expire before the end.
    mqtt.outcome = () => {
      gateway.clock.now += 400;
      return busy;
    };
    await passTime(60_000);
    assert.equal(mqtt.attempts, before + 60);
    mqtt.outcome = () => sent;
    await passTime(hourMs);
    assert.deepEqual(mqtt.arrived, titles);
  });

  test('marks rejected deliveries dead at once, and all deliveries of a target that is gone', async () => {
    mqtt.outcome = () => unreachable;
    for (const title of ['a', 'b', 'c']) await post(title);
    mqtt.outcome = (title) =>
      title === 'a' ? { kind: 'rejected', reason: 'refused', error: 'Too strange' } : unreachable;
    await passTime(5000);
    mqtt.outcome = () => ({ kind: 'gone', error: 'No such device' });
    await passTime(hourMs);
    const all = await deliveries();
    assert.deepEqual(
      all.map(({ state, error }) => [state, error]),
      [
        ['dead', 'The provider is not reachable'],
        ['dead', 'No such device'],
        ['dead', 'Too strange'],
      ],
    );
  });

  test('does not retry an MQTT failure that was reported to a strict caller, but retries the other channels', async () => {
    mqtt.outcome = () => unreachable;
    email.outcome = () => unreachable;
    const { status, body } = await notify(gateway, { title: 'strict', strictDelivery: true, sendPush: false });
    assert.equal(status, 502);
    assert.deepEqual(body.warnings, ['email_send_failed', 'redelivery_scheduled']);
    mqtt.outcome = () => sent;
    email.outcome = () => sent;
    await passTime(hourMs);
    assert.deepEqual(mqtt.arrived, []);
    assert.deepEqual(email.arrived, ['strict']);
    const states = (await deliveries()).map(({ channel, state }) => [channel, state]);
    assert.deepEqual(states, [
      ['email', 'sent'],
      ['mqtt', 'dead'],
    ]);
  });

  test('sends to the targets as they are at that time: not to a deleted device, later to a paused one', async () => {
    const { id: other } = await addDevice();
    mqtt.outcome = () => unreachable;
    await post('x');
    await gateway.store.devices.delete(other);
    await gateway.store.devices.change(deviceId, { paused: true });
    mqtt.outcome = () => sent;
    await passTime(5000);
    assert.deepEqual(mqtt.arrived, []);
    await gateway.store.devices.change(deviceId, { paused: false });
    await passTime(30_000);
    assert.deepEqual(mqtt.arrived, ['x']);
    const gone = (await deliveries()).find(({ target }) => target === other);
    assert.equal(gone?.state, 'dead');
    assert.match(gone?.error ?? '', /deleted/);
  });

  test('resumes dispatches that a crash interrupted between storing and sending, once their lease has expired', async () => {
    const { store, ownerId, clock } = gateway;
    const ids = ['0190aaaa-0000-7000-8000-000000000001', '0190aaaa-0000-7000-8000-000000000002'];
    for (const [index, id] of ids.entries()) {
      await store.notifications.save(
        { id, ownerId, createdAt: clock.now, content: sampleContent({ title: `interrupted ${index}` }) },
        {
          dispatch: { qos: 0, isStrict: false, push: [], email: true, mqtt: [deviceId] },
          idempotency: null,
          leaseUntil: clock.now + 20_000,
        },
      );
    }
    email.outcome = () => unreachable;
    await passTime(19_999);
    assert.deepEqual(mqtt.arrived, []);
    await passTime(1);
    assert.deepEqual(mqtt.arrived, ['interrupted 0', 'interrupted 1']);
    email.outcome = () => sent;
    await passTime(30_000);
    assert.deepEqual(
      email.arrived,
      ['interrupted 0', 'interrupted 1'],
      'failures of resumed dispatches are retried like any other',
    );
    await passTime(hourMs);
    assert.equal(mqtt.arrived.length, 2);
  });

  test('queues at most the quota of an owner, and reports the rest as not queued', async () => {
    mqtt.outcome = () => unreachable;
    const answers = [];
    answers.push(...(await Promise.all(Array.from({ length: 15 }, (_, count) => post(`${count}`)))));
    for (let count = 15; count < 25; count += 1) answers.push(await post(`${count}`));
    assert.equal(answers.filter(({ warnings }) => warnings.includes('redelivery_scheduled')).length, 20);
    await gateway.lifecycle.writer.flush();
    const dead = (await deliveries()).filter(({ state }) => state === 'dead');
    assert.equal(dead.length, 5);
    assert.match(dead[0]?.error ?? '', /too many deliveries of this owner wait/);
  });

  test('two processes together deliver everything once', async () => {
    mqtt.outcome = () => unreachable;
    for (let count = 0; count < 15; count += 1) await post(`${count}`);
    mqtt.outcome = () => sent;
    const first = redelivery;
    startOver();
    gateway.clock.now += 5000;
    await Promise.all([first.turn(), redelivery.turn()]);
    await Promise.all([first.turn(), redelivery.turn()]);
    assert.deepEqual(
      mqtt.arrived,
      Array.from({ length: 15 }, (_, count) => `${count}`),
    );
    await first.close();
  });

  test('a damaged row, or a lost data key, blocks nothing else', async () => {
    mqtt.outcome = () => unreachable;
    for (const title of ['damaged', 'error unreadable', 'whole']) await post(title);
    const [, middle, first] = await deliveries();
    using database = new DatabaseSync(join(gateway.dataDir, 'tocsin.db'), { timeout: 2000 });
    const flip = "sealed = substr(sealed, 1, 20) || x'00ff' || substr(sealed, 23)";
    database.prepare(`UPDATE notifications SET ${flip} WHERE id = ?`).run(first?.notificationId as string);
    database.prepare(`UPDATE deliveries SET ${flip} WHERE notification_id = ?`).run(middle?.notificationId as string);
    mqtt.outcome = () => sent;
    await passTime(5000);
    assert.deepEqual(mqtt.arrived, ['error unreadable', 'whole']);
    assert.equal((await deliveries()).find(({ state }) => state === 'dead')?.notificationId, first?.notificationId);
    assert.equal(failures.splice(0).length, 1, 'and it is reported');

    mqtt.outcome = () => unreachable;
    await post('keyless');
    database.exec('DELETE FROM data_keys');
    const other = await openStore({ dataDir: gateway.dataDir, masterKey: null }, 'existing');
    const onFailed = (error: unknown): void => void failures.push(error);
    const fresh = startRedelivery({
      ...{
        store: other,
        lifecycle: gateway.lifecycle,
        channels: channelsWith({ mqtt, email, push }),
        now: () => gateway.clock.now,
      },
      ...{ random: () => 0.5, onFailed, onDead: () => undefined, isReceived: async () => false },
    });
    gateway.clock.now += hourMs;
    await fresh.turn();
    await fresh.close();
    assert.match(String(failures.splice(0)[0]), /data key/);
    assert.deepEqual(
      await other.targetQueues.claim(gateway.clock.now + hourMs, gateway.clock.now + 2 * hourMs, 10),
      [],
    );
    await other.close();
  });

  test('a provider that is not configured queues nothing', async () => {
    push.outcome = () => ({ kind: 'rejected', reason: 'not_configured', error: 'No push provider' });
    email.outcome = () => ({ kind: 'rejected', reason: 'not_configured', error: 'No SMTP server' });
    const answer = await post('x', { sendEmail: true, sendPush: true });
    assert.deepEqual(answer.warnings, ['email_send_failed']);
    assert.deepEqual(await deliveries(), []);
  });
});
