// Tests by hand: a notification as any other, stored and shown in the inbox, that is told to one target alone.
import type { ChannelReport, NormalizedRequest } from '@tocsin/contract';
import type { TestResult } from '@tocsin/contract/console';
import type { FastifyRequest } from 'fastify';
import type { Device, PushTarget, Recipients } from '../../core/plan.ts';
import { waitForReceipt } from '../../delivery/mqtt-receipt.ts';
import type { ChannelName } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ownerOf } from '../signed-in.ts';
import { createThrottle } from './throttle.ts';

export type TestTarget =
  | { channel: 'mqtt'; device: Device }
  | { channel: 'push'; target: PushTarget }
  | { channel: 'email'; address: string };

export type SendTest = (request: FastifyRequest, to: TestTarget) => Promise<TestResult>;

export function createTestSender({ acceptFor, store }: Pick<ConsoleApiParts, 'acceptFor' | 'store'>): SendTest {
  const throttle = createThrottle('That were many tests.', { times: 10, seconds: 60 });
  return async (request, to) => {
    const { id: ownerId } = ownerOf(request);
    await throttle(ownerId);
    const accept = acceptFor(recipientsOf(to));
    const accepted = await accept({ ownerId, requestId: request.id, request: testRequest(to), idempotency: null });
    if (accepted === 'duplicate') throw new Error('a test has no idempotency key');
    const { id: notificationId } = accepted;
    if (isSent(to.channel, accepted)) {
      const state = to.channel === 'mqtt' ? await progressOf(store, ownerId, notificationId, to.device.id) : 'sent';
      return { isSent: true, state, notificationId, error: null };
    }
    // What may work later is kept before the answer comes, with what went wrong.
    const [kept] = await store.deliveries.list({ ownerId, notificationId, limit: 1 });
    const error = kept?.error ?? accepted.mqttError ?? notTaken[to.channel];
    const isTriedAgain = accepted.warnings.includes('redelivery_scheduled');
    return {
      isSent: false,
      state: null,
      notificationId,
      error: isTriedAgain ? `${error}. It will be tried again.` : error,
    };
  };
}

/** A device that is connected acknowledges at once; the page does not wait long for one that is not. */
const receiptMs = 2000;

async function progressOf(
  store: ConsoleApiParts['store'],
  ownerId: string,
  notificationId: string,
  deviceId: string,
): Promise<'sent' | 'queued' | 'delivered'> {
  return (await waitForReceipt(store, { ownerId, notificationId, deviceId }, receiptMs))?.state ?? 'sent';
}

const notTaken: Record<ChannelName, string> = {
  push: 'The push service did not take it. The test in your inbox says more.',
  email: 'The mail server did not take it. The test in your inbox says more.',
  mqtt: 'The MQTT broker did not take it. The test in your inbox says more.',
};

function isSent(channel: ChannelName, { pushSent, emailSent, mqttPublishedCount }: ChannelReport): boolean {
  return { push: pushSent, email: emailSent, mqtt: mqttPublishedCount === 1 }[channel];
}

/** Whoever asks for a test wants it now, quiet hours or not. */
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
