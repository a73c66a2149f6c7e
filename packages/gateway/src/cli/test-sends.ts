// Manual tests: one visible notification over one channel, and its outcome.
import { randomUUID } from 'node:crypto';
import type { ChannelReport } from '@tocsin/contract';
import type { MqttPublisher } from '../channels/mqtt/publisher.ts';
import type { ChannelSet } from '../channels/registry.ts';
import type { Config } from '../config/server.ts';
import { listenerUrl } from '../core/device-urls.ts';
import { isAccepted, type Outcome } from '../core/outcome.ts';
import { printable } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import { createUuidV7Source } from '../core/uuid-v7.ts';
import { waitForReceipt } from '../delivery/mqtt-receipt.ts';
import { askOwnServer } from '../process/tls/own-server.ts';
import type { Notification, Store } from '../usecases/ports/index.ts';
import { createKey, systemEnvironment } from '../usecases/registration.ts';
import { type Command, notFound, type Output, withStore } from './command.ts';

const sendTimeoutMs = 15_000;
/** Time that a device has to acknowledge a test. */
const receiptMs = 5000;

export const testEmailCommand: Command = {
  summary: 'Send a test email to an owner',
  positional: 'ID',
  run: ({ positional }, environment) =>
    withStore(environment, async (store, config) => {
      const owner = (await store.owners.find(positional)) ?? notFound('owner', positional);
      const { email: address } = owner;
      if (address === null)
        throw new Problem(`${printable(owner.name)} has no address: 'tocsin owner set ${owner.id} --email ADDRESS'.`);
      return withChannels(config, store, async ({ managed: { email } }) => {
        if (email === null)
          throw new Problem('No SMTP server is configured: set TOCSIN_SMTP_URL and TOCSIN_EMAIL_FROM.');
        const send = email.send(
          testNotification(owner.id),
          [{ address }],
          sendOptions,
          AbortSignal.timeout(sendTimeoutMs),
        );
        return toOutput((await send)[0], `The SMTP server accepted the test email for ${address}.`);
      });
    }),
};

export const testPushCommand: Command = {
  summary: 'Send a test to a push target',
  positional: 'ID',
  run: ({ positional }, environment) =>
    withStore(environment, async (store, config) => {
      const target = (await store.pushTargets.find(positional)) ?? notFound('push', positional);
      return withChannels(config, store, async ({ managed: { push } }) => {
        const send = push.send(
          testNotification(target.ownerId),
          [target],
          sendOptions,
          AbortSignal.timeout(sendTimeoutMs),
        );
        return toOutput((await send)[0], `${target.provider} accepted the test for ${target.id}.`);
      });
    }),
};

export const testDeviceCommand: Command = {
  summary: 'Send a test to a device, through the running server',
  positional: 'ID',
  run: ({ positional }, environment) =>
    withStore(environment, async (store, config) => {
      const { device } = (await store.devices.find(positional)) ?? notFound('device', positional);
      const response = await postTest(config, store, device.ownerId, device.id);
      const isPublished = response.ok === true && response.mqttPublishedCount === 1;
      if (!isPublished) {
        const failure = response.mqttError ?? response.error ?? 'this is not the response of a Tocsin gateway';
        return { json: response, text: `Not sent: ${failure}`, exitCode: 1 };
      }
      const ids = { ownerId: device.ownerId, notificationId: response.id ?? '', deviceId: device.id };
      const progress = await waitForReceipt(store, ids, receiptMs);
      const isUnknown = device.seenAt === null && progress?.state === 'queued';
      return {
        json: { ...response, device: progress ?? { state: 'accepted' } },
        text: isUnknown
          ? describeTest.neverConnected(device.name)
          : describeTest[progress?.state ?? 'accepted'](device.name),
      };
    }),
};

const describeTest = {
  delivered: (name: string) => `${name} has acknowledged the test.`,
  queued: (name: string) =>
    `${name} has not acknowledged the test yet. It stays in the queue until the device connects.`,
  neverConnected: (name: string) =>
    `${name} has never connected. The test is queued until it does: check its address, user name and password.`,
  accepted: (name: string) =>
    `The broker accepted the test for ${name}. It does not report whether the device received it.`,
};

const sendOptions = { qos: 1, customBroker: null } as const;

function testNotification(ownerId: string): Notification {
  return {
    id: createUuidV7Source(Date.now, randomUUID)(),
    ownerId,
    createdAt: Date.now(),
    title: 'Test from Tocsin',
    body: 'If you can read this, this channel works.',
    source: 'tocsin',
    category: 'info',
    severity: 'info',
    data: {},
  };
}

function toOutput(outcome: Outcome | undefined, success: string): Output {
  if (outcome === undefined) return { json: null, text: 'Not sent: nothing was attempted', exitCode: 1 };
  if (isAccepted(outcome)) return { json: outcome, text: success };
  return { json: outcome, text: `Not sent: ${outcome.error}`, exitCode: 1 };
}

/** Opens the channels of this configuration, except the embedded broker, which runs in the server. */
export async function withChannels<T>(config: Config, store: Store, use: (set: ChannelSet) => Promise<T>): Promise<T> {
  // Loaded only here: without the providers, the other commands start in half the time.
  const [{ closeEgresses, createChannels, createEgresses }, { createPlatformBroker }] = await Promise.all([
    import('../channels/registry.ts'),
    import('../channels/mqtt/platform.ts'),
  ]);
  await using opened = new AsyncDisposableStack();
  const egress = opened.adopt(createEgresses(config), closeEgresses);
  const { platform } = config.mqtt;
  const broker = platform === null ? noBroker : createPlatformBroker(platform, { now: Date.now });
  const publisher = opened.adopt(broker, (each) => each.close());
  const set = await createChannels(config, { store, egress, publisher, now: Date.now });
  opened.adopt(set, (each) => each.close());
  return await use(set);
}

const noBroker: MqttPublisher = {
  publish: async () => ({
    kind: 'rejected',
    reason: 'not_configured',
    error: 'The embedded broker runs in the server',
  }),
  check: async () => null,
  close: async () => undefined,
};

type TestResponse = Partial<ChannelReport> & { id?: string; ok?: boolean; error?: string };

/** Sends a request with a temporary key that expires after a minute, so that the whole path is tested. */
async function postTest(config: Config, store: Store, ownerId: string, deviceId: string): Promise<TestResponse> {
  const { key, value } = await createKey(store, systemEnvironment, {
    ownerId,
    type: 'internal_service',
    label: 'device test',
    expiresAt: Date.now() + 60_000,
  });
  const url = listenerUrl(config.tls === null ? 'http' : 'https', config.host, config.port);
  const { title, body, source, severity } = testNotification(ownerId);
  try {
    if (url === null) throw new Problem('Set TOCSIN_PORT to the port that the server listens on.');
    const response = await askOwnServer(url, config.tls, {
      method: 'POST',
      headers: { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ title, body, source, severity, deviceId, sendPush: false, sendEmail: false }),
      signal: AbortSignal.timeout(sendTimeoutMs),
    });
    return (await response.json()) as TestResponse;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(`No server responds at ${url}. Is it running, and with the same TOCSIN_PORT?`);
  } finally {
    await store.keys.delete(ownerId, key.id);
  }
}
