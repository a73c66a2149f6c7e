// Test sends: a notification like any other, stored and shown in the inbox, but delivered to one target only.
import type { ChannelReport, NormalizedRequest } from '@tocsin/contract';
import type { TestResult } from '@tocsin/contract/console';
import type { FastifyRequest } from 'fastify';
import type { Device, PushTarget, Recipients } from '../../core/plan.ts';
import { waitForReceipt } from '../../delivery/mqtt-receipt.ts';
import type { ChannelName } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ownerOf } from '../signed-in.ts';
import { createThrottle } from './throttle.ts';

export type TestTarget =
  | { channel: 'mqtt'; device: Device }
  | { channel: 'push'; target: PushTarget }
  | { channel: 'email'; address: string };

export type SendTest = (request: FastifyRequest, to: TestTarget) => Promise<TestResult>;

export function createTestSender({ acceptFor, store }: Pick<ConsoleApiDeps, 'acceptFor' | 'store'>): SendTest {
  const throttle = createThrottle('Too many test sends.', { limit: 10, seconds: 60 });
  return async (request, to) => {
    const { id: ownerId } = ownerOf(request);
    await throttle(ownerId);
    const accept = acceptFor(recipientsOf(to));
    const accepted = await accept({ ownerId, requestId: request.id, request: testRequest(to), idempotency: null });
    if (accepted === 'duplicate') throw new Error('a test send has no idempotency key');
    const { id: notificationId } = accepted;
    if (isSent(to.channel, accepted)) {
      const state = to.channel === 'mqtt' ? await progressOf(store, ownerId, notificationId, to.device.id) : 'sent';
      return { isSent: true, state, notificationId, error: null };
    }
    // A delivery that will be retried is stored, with its error, before `accept` resolves.
    const [kept] = await store.deliveries.list({ ownerId, notificationId, limit: 1 });
    const error = kept?.error ?? accepted.mqttError ?? notAccepted[to.channel];
    const isRetried = accepted.warnings.includes('redelivery_scheduled');
    return {
      isSent: false,
      state: null,
      notificationId,
      error: isRetried ? `${error}. It will be retried.` : error,
    };
  };
}

/** A connected device acknowledges immediately; the page does not wait long for a disconnected one. */
const receiptMs = 2000;

async function progressOf(
  store: ConsoleApiDeps['store'],
  ownerId: string,
  notificationId: string,
  deviceId: string,
): Promise<'sent' | 'queued' | 'delivered'> {
  return (await waitForReceipt(store, { ownerId, notificationId, deviceId }, receiptMs))?.state ?? 'sent';
}

const notAccepted: Record<ChannelName, string> = {
  push: 'The push service did not accept it. See the test in your inbox for details.',
  email: 'The SMTP server did not accept it. See the test in your inbox for details.',
  mqtt: 'The MQTT broker did not accept it. See the test in your inbox for details.',
};

function isSent(channel: ChannelName, { pushSent, emailSent, mqttPublishedCount }: ChannelReport): boolean {
  return { push: pushSent, email: emailSent, mqtt: mqttPublishedCount === 1 }[channel];
}

/** Quiet hours do not apply to test sends. */
function recipientsOf(to: TestTarget): Recipients {
  return {
    email: to.channel === 'email' ? to.address : null,
    emailAlerts: false,
    quietHours: null,
    devices: to.channel === 'mqtt' ? [to.device] : [],
    pushTargets: to.channel === 'push' ? [to.target] : [],
  };
}

function testRequest({ channel }: TestTarget): NormalizedRequest {
  return {
    title: 'Test from Tocsin',
    body: 'If you can read this, this channel works.',
    source: 'tocsin',
    category: 'info',
    severity: 'info',
    sendPush: channel === 'push',
    sendEmail: channel === 'email',
    sendMqtt: channel === 'mqtt',
    strictDelivery: false,
    deviceId: null,
    mqttQos: 1,
    customBroker: null,
    data: {},
  };
}
