// The access lists that docs/operators.md gives to operators, on the real brokers, attacked by a device and by an
// attacker with the gateway's password.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { RawClient, readPublish, type SignInOptions } from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { mqttMessage, patience } from '@tocsin/test-support/mqtt-messages.ts';
import { isNatsSince, NatsServer, natsObstacle } from '@tocsin/test-support/nats-server.ts';
import { canRun, type Obstacle } from '@tocsin/test-support/requires.ts';
import { createPlatformBroker } from '../src/channels/mqtt/platform.ts';
import type { MqttPublisher } from '../src/channels/mqtt/publisher.ts';

const guide = readFileSync(new URL('../../../docs/operators.md', import.meta.url), 'utf8');
const owner = 'own_1';
const passwords = { tocsin: 'word-of-the-gateway', dev_1: 'word-of-dev_1', dev_2: 'word-of-dev_2' };
type User = keyof typeof passwords;
const topicOf = (device: string): string => `tocsin/${owner}/${device}/notifications`;

interface Broker {
  port: number;
  /** Port of a protocol other than MQTT. */
  nativePort?: number;
  stop(): Promise<void>;
}

interface Kind {
  obstacle: Obstacle;
  start(): Promise<Broker>;
}

const kinds: Record<string, Kind> = {
  Mosquitto: {
    obstacle: mosquittoObstacle(),
    start: () => Mosquitto.start({ users: passwords, acl: listOf('# Mosquitto').split('\n') }),
  },
  NATS: {
    obstacle: natsObstacle(),
    start: () =>
      NatsServer.start(withSecondDevice(listOf('# NATS')), {
        TOCSIN_PASSWORD: passwords.tocsin,
        DEV_1_PASSWORD: passwords.dev_1,
        DEV_2_PASSWORD: passwords.dev_2,
      }),
  },
};

/** Returns the code block of the document that begins with this line. */
function listOf(beginning: string): string {
  const blocks = [...guide.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  return blocks.find((block) => block.startsWith(beginning)) ?? assert.fail(`${beginning}: not in docs/operators.md`);
}

/** Repeats for dev_2 what the document says of dev_1. */
function withSecondDevice(list: string): string {
  const entry = /^ {2}\{ user: dev_1[\s\S]*?\} \}\n/m.exec(list)?.[0] ?? assert.fail('there is no dev_1');
  return list.replace(entry, () => entry + entry.replaceAll('dev_1', 'dev_2').replaceAll('DEV_1', 'DEV_2'));
}

/** Topics that only the right device may receive, as filters that match them. */
const filters = [
  '#',
  '+/#',
  '+/+/+/+',
  'tocsin/#',
  'tocsin/+/+/notifications',
  `tocsin/${owner}/#`,
  `tocsin/${owner}/+/notifications`,
  'tocsin/+/dev_2/notifications',
  'tocsin/+/dev_2/#',
  topicOf('dev_2'),
  `$share/g/${topicOf('dev_2')}`,
  '$share/g/#',
  'tocsin/doctor/#',
  '$MQTT/#',
  '$MQTT/msgs/#',
  `$MQTT/msgs/${topicOf('dev_2')}`,
  '$MQTT/sub/#',
  '$MQTT/rmsgs/#',
  '$MQTT/sess/#',
  '$MQTT/JSA/#',
  '$JS/#',
  '$SYS/#',
  '_INBOX/#',
];

for (const [name, { obstacle, start }] of Object.entries(kinds)) {
  suite(`The access list for ${name} in docs/operators.md`, () => {
    test('lets the gateway publish, each device receive its own messages also after a disconnection, and doctor see that they arrive', async (t) => {
      if (!canRun(t, obstacle)) return;
      const { broker, publisher } = await open(t, start);
      const reconnect = (user: User) => signIn(broker, user, { clientId: `kept-${user}`, clean: false });
      const devices = [await reconnect('dev_1'), await reconnect('dev_2')];
      for (const [index, device] of devices.entries()) {
        const topic = `tocsin/+/dev_${index + 1}/notifications`;
        assert.deepEqual(await device.subscribe([topic], 1), [1]);
      }
      // A broker that has not noticed the disconnection may send the message to the old connection first.
      await devices[0]?.disconnect();
      for (const device of ['dev_1', 'dev_2']) {
        assert.deepEqual(await publisher.publish(mqttMessage(topicOf(device), `for ${device}`), patience()), {
          kind: 'sent',
        });
      }
      const back = await reconnect('dev_1');
      for (const [device, client] of [
        ['dev_1', back],
        ['dev_2', devices[1] as RawClient],
      ] as const) {
        const { topic, payload } = await receive(client);
        assert.deepEqual([topic, payload], [topicOf(device), `for ${device}`]);
      }
      const installation = await install(t, settingsFor(broker));
      const gateway = await installation.serve();
      const { exitCode, stdout } = await installation.run(['doctor']);
      assert.match(stdout, /ok +mqtt: the broker answers, and what is published arrives/);
      assert.equal(exitCode, 0);
      assert.equal(await gateway.stop(), 0);
    });

    for (const user of ['dev_1', 'tocsin'] as const) {
      test(`lets no filter of ${user} match messages for another device`, async (t) => {
        if (!canRun(t, obstacle)) return;
        const { broker, publisher } = await open(t, start);
        // This subscription gets what is published after the secret; if it arrives, the secret would have arrived, too.
        const own = user === 'tocsin' ? 'tocsin/doctor/own/notifications' : topicOf(user);
        const victim = await signIn(broker, 'dev_2', { clientId: 'victim' });
        await victim.subscribe([topicOf('dev_2')], 1);
        for (const [index, filter] of filters.entries()) {
          for (const qos of [0, 1] as const) {
            const attacker = await signIn(broker, user, { clientId: `attacker-${index}-${qos}` });
            assert.deepEqual(await attacker.subscribe([own], 0), [0]);
            const granted = await attacker.subscribe([filter], qos);
            for (const sentQos of [0, 1] as const) {
              await publisher.publish(mqttMessage(topicOf('dev_2'), 'secret', sentQos), patience());
              assert.equal((await receive(victim)).payload, 'secret');
            }
            if (granted === 'closed') continue;
            await publisher.publish(mqttMessage(own, 'the end'), patience());
            for (;;) {
              const { topic, payload } = await receive(attacker);
              assert.equal(topic, own, `${filter} with QoS ${qos} brought ${payload}`);
              if (payload === 'the end') break;
            }
            await attacker.end();
          }
        }
      });
    }

    test('prevents a device from forging messages, retained messages, wills, and the message that doctor waits for', async (t) => {
      if (!canRun(t, obstacle)) return;
      const { broker, publisher } = await open(t, start);
      const victim = await signIn(broker, 'dev_2', { clientId: 'victim' });
      await victim.subscribe(['tocsin/+/dev_2/notifications'], 1);
      const doctor = await signIn(broker, 'tocsin', { clientId: 'doctor' });
      assert.deepEqual(await doctor.subscribe(['tocsin/doctor/x/notifications'], 0), [0]);
      const topics = [
        topicOf('dev_2'),
        topicOf('dev_1'),
        'tocsin/doctor/x/notifications',
        ...['$MQTT/msgs', '$MQTT/sub', '$MQTT/rmsgs', '$JS/API'].map((prefix) => `${prefix}/${topicOf('dev_2')}`),
      ];
      for (const [index, topic] of topics.entries()) {
        const will = { topic, payload: 'forged', retain: true };
        const dying = await signIn(broker, 'dev_1', { clientId: `dying-${index}`, will }).catch(() => null);
        dying?.socket.resetAndDestroy();
        for (const qos of [0, 1]) {
          for (const retain of [false, true]) {
            const attacker = await signIn(broker, 'dev_1', { clientId: `attacker-${index}-${qos}-${retain}` });
            attacker.publish(topic, 'forged', { qos, retain });
            // Some brokers confirm, some close the connection, and Mosquitto sends nothing for QoS 0.
            await attacker.ping().catch(() => undefined);
            await attacker.end();
          }
        }
      }
      await publisher.publish(mqttMessage(topicOf('dev_2'), 'genuine'), patience());
      assert.equal((await receive(victim)).payload, 'genuine');
      await publisher.publish(mqttMessage('tocsin/doctor/x/notifications', 'genuine'), patience());
      assert.equal((await receive(doctor)).payload, 'genuine');
      const late = await signIn(broker, 'dev_2', { clientId: 'late' });
      await late.subscribe([topicOf('dev_2')], 1);
      await publisher.publish(mqttMessage(topicOf('dev_2'), 'new'), patience());
      assert.equal((await receive(late)).payload, 'new', 'nothing was retained');
    });

    test('prevents a device from taking messages of another session by its client id', async (t) => {
      if (!canRun(t, obstacle)) return;
      const { broker, publisher } = await open(t, start);
      const victim = await signIn(broker, 'dev_2', { clientId: 'phone', clean: false });
      await victim.subscribe([topicOf('dev_2')], 1);
      await victim.end();
      await publisher.publish(mqttMessage(topicOf('dev_2'), 'secret'), patience());
      const thief = await RawClient.open(broker.port);
      const code = await thief.connect({
        username: 'dev_1',
        password: passwords.dev_1,
        clientId: 'phone',
        clean: false,
      });
      if (code === 0) {
        await thief.subscribe([topicOf('dev_1')], 0);
        await publisher.publish(mqttMessage(topicOf('dev_2'), 'another secret'), patience());
        await publisher.publish(mqttMessage(topicOf('dev_1'), 'the end', 0), patience());
        assert.deepEqual(await receive(thief), { topic: topicOf('dev_1'), payload: 'the end' });
      }
    });

    test('admits no client over another protocol', async (t) => {
      if (!canRun(t, obstacle)) return;
      const { broker } = await open(t, start);
      if (broker.nativePort === undefined) return t.diagnostic('This broker speaks no other protocol.');
      for (const user of Object.keys(passwords) as User[]) {
        const socket = connect({ port: broker.nativePort, host: '127.0.0.1' });
        t.after(() => socket.destroy());
        let said = '';
        socket.setEncoding('utf8').on('data', (text: string) => {
          said += text;
        });
        const login = JSON.stringify({ user, pass: passwords[user], verbose: false });
        socket.write(`CONNECT ${login}\r\nSUB > 1\r\nSUB $MQTT.> 2\r\nPING\r\n`);
        await eventually(
          `a reply to ${user}`,
          10_000,
          () => said,
          (text) => /-ERR|PONG/.test(text),
        );
        assert.match(said, /-ERR 'Authorization Violation'/, user);
        assert.doesNotMatch(said, /PONG/);
      }
    });
  });
}

suite('doctor, on a broker that is set up wrongly,', () => {
  const nothing = 'permissions: { publish: { deny: ">" }, subscribe: ["tocsin.doctor.*.notifications"] }';
  const cases: { what: string; list: string; prefix?: string; before?: string; wanted: RegExp }[] = [
    {
      what: 'detects that NATS confirms a message and discards it',
      list: `authorization { users = [ { user: tocsin, password: $TOCSIN_PASSWORD, ${nothing} } ] }`,
      wanted:
        /FAILED +mqtt: the broker confirmed a message to tocsin\/doctor\/\w+\/notifications and did not deliver it/,
    },
    {
      what: 'warns if the access list of NATS does not let it subscribe',
      list: listOf('# NATS').replace('"tocsin.doctor.*.notifications"', '"elsewhere"'),
      wanted: /warning +mqtt: .* does not allow this user to subscribe to tocsin\/doctor\/\+\/notifications/,
    },
    {
      what: 'explains that NATS does not support dots in the topic prefix',
      list: listOf('# NATS'),
      prefix: 'acme.eu',
      before: '2.10',
      wanted: /FAILED +mqtt: .*NATS takes no dots: change TOCSIN_MQTT_TOPIC_PREFIX \(acme\.eu\)/,
    },
  ];
  for (const { what, list, prefix, before, wanted } of cases) {
    test(what, async (t) => {
      if (!canRun(t, natsObstacle())) return;
      if (before !== undefined && isNatsSince(before)) return t.skip(`NATS ${before} does not do that any longer`);
      const environment = { TOCSIN_PASSWORD: passwords.tocsin, DEV_1_PASSWORD: passwords.dev_1 };
      const broker = await NatsServer.start(list, environment);
      t.after(() => broker.stop());
      await expectDoctor(t, broker, { ...(prefix !== undefined && { TOCSIN_MQTT_TOPIC_PREFIX: prefix }) }, wanted);
    });
  }

  test('reports that Mosquitto does not allow the gateway to publish', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const acl = ['user tocsin', 'topic read tocsin/doctor/+/notifications'];
    const broker = await Mosquitto.start({ users: passwords, acl });
    t.after(() => broker.stop());
    const wanted =
      /FAILED +mqtt: The MQTT broker refused the message \(not authorized\)\. The user has to be allowed to publish to tocsin\/\+\/\+\/notifications/;
    await expectDoctor(t, broker, {}, wanted);
  });

  test('warns if the access list of Mosquitto does not let it subscribe', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const broker = await Mosquitto.start({
      users: passwords,
      acl: ['user tocsin', 'topic write tocsin/+/+/notifications'],
    });
    t.after(() => broker.stop());
    await expectDoctor(t, broker, {}, /warning +mqtt: .*allow this user to read tocsin\/doctor\/\+\/notifications/);
  });

  test('reports a wrong password as refused by the broker, not as unreachable', async (t) => {
    if (!canRun(t, mosquittoObstacle())) return;
    const broker = await Mosquitto.start({ users: passwords });
    t.after(() => broker.stop());
    const wanted =
      /FAILED +mqtt: The MQTT broker at 127\.0\.0\.1:\d+ refuses the connection: not authorized\. Check TOCSIN_MQTT_USERNAME/;
    await expectDoctor(t, broker, { TOCSIN_MQTT_PASSWORD: 'wrong' }, wanted);
  });
});

async function expectDoctor(
  t: TestContext,
  broker: Broker,
  environment: Record<string, string>,
  wanted: RegExp,
): Promise<void> {
  const installation = await install(t, { ...settingsFor(broker), ...environment });
  // doctor checks channels once there is a store.
  await installation.json('owner', 'create', '--name', 'Ann');
  const { stdout } = await installation.run(['doctor']);
  assert.match(stdout, wanted);
  assert.doesNotMatch(stdout, /port and protocol/);
}

async function open(t: TestContext, start: Kind['start']): Promise<{ broker: Broker; publisher: MqttPublisher }> {
  const broker = await start();
  t.after(() => broker.stop());
  const publisher = createPlatformBroker(
    { url: new URL(`mqtt://127.0.0.1:${broker.port}`), username: 'tocsin', password: passwords.tocsin, ca: null },
    { now: Date.now },
  );
  t.after(() => publisher.close());
  assert.equal(await publisher.check(), null);
  return { broker, publisher };
}

function settingsFor({ port }: Broker): Record<string, string> {
  return {
    TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${port}`,
    TOCSIN_MQTT_USERNAME: 'tocsin',
    TOCSIN_MQTT_PASSWORD: passwords.tocsin,
  };
}

async function signIn({ port }: Broker, user: User, options: SignInOptions): Promise<RawClient> {
  return RawClient.signIn(port, { id: user, secret: passwords[user] }, options);
}

/** Returns the next message and acknowledges it. */
async function receive(client: RawClient): Promise<{ topic: string; payload: string }> {
  const { topic, payload, messageId } = readPublish(await client.next('publish'));
  if (messageId !== null) client.confirm('puback', messageId);
  return { topic, payload: payload.toString() };
}
