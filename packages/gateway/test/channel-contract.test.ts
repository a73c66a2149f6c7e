import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { BrokerFixture } from '@tocsin/test-support/embedded-broker.ts';
import { RawClient } from '@tocsin/test-support/embedded-raw-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { Mosquitto, mosquittoObstacle } from '@tocsin/test-support/mosquitto.ts';
import { ApnsStandIn, apnsError } from '@tocsin/test-support/push-apns-stand-in.ts';
import { apnsToken, createTestPush, fcmToken, sampleNotification, target } from '@tocsin/test-support/push-channel.ts';
import { FcmStandIn, fcmError } from '@tocsin/test-support/push-fcm-stand-in.ts';
import { serverText, startSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { createEmailSender } from '../src/channels/email/sender.ts';
import { type EmailTarget, mailbox } from '../src/channels/email/target.ts';
import { createCustomPublisher } from '../src/channels/mqtt/custom.ts';
import { createPlatformBroker } from '../src/channels/mqtt/platform.ts';
import type { MqttPublisher } from '../src/channels/mqtt/publisher.ts';
import { createMqttSender } from '../src/channels/mqtt/sender.ts';
import type { MqttTarget } from '../src/channels/mqtt/target.ts';
import { channels } from '../src/channels/registry.ts';
import { breakersOf } from '../src/core/channel.ts';
import type { PushTarget } from '../src/core/recipients.ts';
import { createEgress } from '../src/egress/index.ts';
import {
  type ChannelFixture,
  type ProviderState,
  runChannelContract,
  testedChannels,
  usualOutcomes,
} from './channel-contract.ts';

const clock = { now: sampleNotification.createdAt };

runChannelContract<EmailTarget>(
  'email',
  {
    channel: 'email',
    outcomes: { healthy: 'sent', busy: 'retry', refusing: 'rejected', hanging: 'retry', unreachable: 'retry' },
  },
  async (t) => {
    const server = await startSmtpServer({ users: { user: 'canary-word' }, disabledCommands: ['STARTTLS'] });
    const url = new URL(`smtp://user:canary-word@127.0.0.1:${server.port}?requireTLS=false`);
    const channel = createEmailSender({ url, from: 'tocsin@example.com', timeoutMs: 5000 });
    t.after(async () => {
      server.resume();
      await channel.close();
      await server.kill();
    });
    return {
      channel,
      newTarget: () => mailbox('ann@example.com'),
      secrets: ['canary-word', serverText],
      simulate: async (state) => {
        server.resume();
        if (state === 'busy') server.faults.data = 451;
        if (state === 'refusing') server.faults.rcpt = 550;
        if (state === 'hanging') server.faults.data = 'stall';
        if (state === 'unreachable') await server.kill();
      },
    };
  },
);

runChannelContract<PushTarget>(
  'Web Push',
  {
    channel: 'push',
    outcomes: usualOutcomes,
  },
  async () => {
    const push = createTestPush();
    const secret = 'canary-word';
    return {
      channel: push.channel,
      newTarget: () => target('webpush', push.webPush.subscribe()),
      secrets: [secret],
      simulate: (state) => {
        const replies: Partial<Record<ProviderState, typeof push.webPush.reply>> = {
          busy: () => ({ status: 503 }),
          gone: () => ({ status: 410 }),
          refusing: () => ({ status: 400 }),
          hanging: (_url, signal) =>
            new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error(secret)))),
          unreachable: () => Promise.reject(new Error(secret)),
        };
        push.webPush.reply = replies[state] ?? (() => undefined);
      },
    };
  },
);

runChannelContract<PushTarget>(
  'FCM',
  {
    channel: 'push',
    outcomes: usualOutcomes,
  },
  async (t) => {
    const fcm = await FcmStandIn.start(clock);
    const push = createTestPush({ fcm: fcm.config }, {}, clock);
    t.after(async () => {
      await push.channel.close();
      await fcm.server.stop();
    });
    return {
      channel: push.channel,
      newTarget: () => target('fcm', fcmToken('canary')),
      secrets: [fcmToken('canary'), fcm.config.privateKey, 'canary-word'],
      simulate: async (state) => {
        const replies: Partial<Record<ProviderState, typeof fcm.replyToMessage>> = {
          busy: () => fcmError(503, 'UNAVAILABLE'),
          gone: () => fcmError(404, 'NOT_FOUND', 'UNREGISTERED'),
          refusing: () => fcmError(400, 'INVALID_ARGUMENT', 'canary-word'),
          hanging: () => 'silence',
        };
        fcm.replyToMessage = replies[state] ?? (() => undefined);
        if (state === 'unreachable') await fcm.server.stop();
      },
    };
  },
);

runChannelContract<PushTarget>(
  'APNs',
  {
    channel: 'push',
    outcomes: usualOutcomes,
  },
  async (t) => {
    const apns = await ApnsStandIn.start(clock);
    const push = createTestPush({ apns: apns.config }, {}, clock);
    t.after(async () => {
      await push.channel.close();
      await apns.server.stop();
    });
    return {
      channel: push.channel,
      newTarget: () => target('apns', apnsToken('a')),
      secrets: [apnsToken('a'), apns.config.key],
      simulate: async (state) => {
        const replies: Partial<Record<ProviderState, typeof apns.reply>> = {
          busy: () => apnsError(503, 'ServiceUnavailable'),
          gone: () => apnsError(410, 'Unregistered'),
          refusing: () => apnsError(400, 'BadTopic'),
          hanging: () => 'silence',
        };
        apns.reply = replies[state] ?? (() => undefined);
        if (state === 'unreachable') await apns.server.stop();
      },
    };
  },
);

const noBroker: MqttPublisher = {
  publish: () => Promise.reject(new Error('the other broker was contacted')),
  check: async () => null,
  close: async () => undefined,
};

function mqttChannel(publisher: MqttPublisher) {
  const egress = createEgress({ allowed: [] });
  const custom = createCustomPublisher(async () => egress, { now: Date.now });
  return createMqttSender({ publisher, custom, topicPrefix: 'tocsin', retentionDays: 90 });
}

runChannelContract<MqttTarget>(
  "MQTT over the operator's broker",
  {
    channel: 'mqtt',
    obstacle: mosquittoObstacle(),
    outcomes: { healthy: 'sent', refusing: 'rejected', hanging: 'retry', unreachable: 'retry' },
  },
  async (t: TestContext): Promise<ChannelFixture<MqttTarget>> => {
    const broker = await Mosquitto.start({
      users: { gateway: 'canary-word' },
      acl: ['user gateway', 'topic write tocsin/+/allowed/notifications'],
    });
    const url = new URL(`mqtt://127.0.0.1:${broker.port}`);
    const publisher = createPlatformBroker(
      { url, username: 'gateway', password: 'canary-word', ca: null },
      { now: Date.now },
    );
    t.after(async () => {
      broker.thaw();
      await publisher.close();
      await broker.stop();
    });
    await eventually(
      'the broker is connected',
      5000,
      () => publisher.check(),
      (problem) => problem === null,
    );
    let deviceId = 'allowed';
    return {
      channel: mqttChannel(publisher),
      newTarget: () => ({ id: deviceId }),
      secrets: ['canary-word'],
      simulate: async (state) => {
        deviceId = state === 'refusing' ? 'denied' : 'allowed';
        if (state === 'hanging') broker.freeze();
        else broker.thaw();
        if (state === 'unreachable') await broker.kill();
      },
    };
  },
);

runChannelContract<MqttTarget>(
  'MQTT over the embedded broker',
  { channel: 'mqtt', outcomes: { healthy: 'sent' } },
  async (t) => {
    const fixture = await BrokerFixture.start(t);
    const ownerId = await fixture.addOwner('own_1');
    const device = await fixture.addDevice(ownerId);
    await (await RawClient.signIn(fixture.port, device)).end();
    return {
      channel: mqttChannel(fixture.broker),
      newTarget: () => ({ id: device.id }),
      secrets: [],
      simulate: () => undefined,
    };
  },
);

runChannelContract<MqttTarget>(
  'MQTT over a broker named in the request',
  { channel: 'mqtt', outcomes: { unreachable: 'rejected' } },
  async () => ({
    channel: mqttChannel(noBroker),
    newTarget: () => ({ id: 'dev_1' }),
    options: {
      customBroker: {
        host: '127.0.0.1',
        port: 1,
        path: '/mqtt',
        username: 'canary-user',
        password: 'canary-word',
        clientId: null,
        topic: null,
      },
    },
    secrets: ['canary-user', 'canary-word', '127.0.0.1'],
    simulate: () => undefined,
  }),
);

suite('The registry', () => {
  test('has no channel without a fixture in this file', () => {
    const untested = channels.map(({ name }) => name).filter((name) => !testedChannels.has(name));
    assert.deepEqual(untested, []);
  });

  test('has a breaker with the name of the channel for every channel without guards of its own', () => {
    for (const channel of channels.filter(({ guard }) => guard !== 'own')) {
      assert.deepEqual(Object.keys(breakersOf(channel)), [channel.name]);
    }
  });
});
