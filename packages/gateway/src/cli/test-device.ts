// `tocsin device test`: a test through the running server, and whether the device acknowledged it.
import type { ChannelReport } from '@tocsin/contract';
import { mqttChannel } from '../channels/mqtt/index.ts';
import type { Config } from '../config/server.ts';
import { listenerUrl } from '../core/device-urls.ts';
import { Problem } from '../core/problem.ts';
import { testContent } from '../core/test-content.ts';
import { waitForReceipt } from '../delivery/receipts.ts';
import { targetReader } from '../delivery/target-reader.ts';
import { askOwnServer } from '../process/tls/own-server.ts';
import type { Store } from '../usecases/ports/index.ts';
import { createKey, systemEnvironment } from '../usecases/registration.ts';
import { type Command, notFound, withStore } from './command.ts';

const timeoutMs = 15_000;
/** How long a device may take to acknowledge a test. */
const receiptMs = 5000;

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
      const read = targetReader(store, { id: device.ownerId, email: null });
      const to = { notificationId: response.id ?? '', target: device.id };
      const progress = await waitForReceipt(mqttChannel, read, to, receiptMs);
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
  try {
    if (url === null) throw new Problem('Set TOCSIN_PORT to the port that the server listens on.');
    const response = await askOwnServer(url, config.tls, {
      method: 'POST',
      headers: { Authorization: `Bearer ${value}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...testContent, deviceId, sendPush: false, sendEmail: false }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    return (await response.json()) as TestResponse;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(`No server responds at ${url}. Is it running, and with the same TOCSIN_PORT?`);
  } finally {
    await store.keys.delete(ownerId, key.id);
  }
}
