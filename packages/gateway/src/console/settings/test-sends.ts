// Test sends: a notification like any other, stored and shown in the inbox, but delivered to one target only.
import type { NormalizedRequest } from '@tocsin/contract';
import type { TestResult } from '@tocsin/contract/console';
import type { FastifyRequest } from 'fastify';
import type { ChannelDefinition, ChannelTarget } from '../../core/channel.ts';
import { isAccepted, type Outcome } from '../../core/outcome.ts';
import type { Plan } from '../../core/plan.ts';
import { outcomesOf } from '../../core/response.ts';
import { testContent } from '../../core/test-content.ts';
import { waitForReceipt } from '../../delivery/receipts.ts';
import { targetReader } from '../../delivery/target-reader.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ownerOf } from '../signed-in.ts';
import { createThrottle } from './throttle.ts';

export interface TestTarget {
  channel: string;
  target: ChannelTarget;
}

export type SendTest = (request: FastifyRequest, to: TestTarget) => Promise<TestResult>;

export function createTestSender({
  definitions,
  process,
  store,
  now,
}: Pick<ConsoleApiDeps, 'definitions' | 'process' | 'store' | 'now'>): SendTest {
  const throttle = createThrottle('Too many test sends.', { limit: 10, seconds: 60 });
  return async (request, { channel, target }) => {
    const owner = ownerOf(request);
    const { id: ownerId } = owner;
    await throttle(ownerId);
    const definition = definitions.find(({ name }) => name === channel);
    if (definition === undefined) throw new Error(`There is no channel ${channel}`);
    const accepting = { ownerId, requestId: request.id, request: testRequest, idempotency: null };
    const processed = await process(accepting, planFor(definition, target), now());
    if (processed === 'duplicate') throw new Error('a test send has no idempotency key');
    const { id: notificationId, result, isRetryScheduled } = processed;
    const outcome = outcomesOf(result, channel)[0] as Outcome;
    if (isAccepted(outcome)) {
      const to = { notificationId, target: target.id };
      const progress = await waitForReceipt(definition, targetReader(store, owner), to, receiptMs);
      return { isSent: true, state: progress?.state ?? 'sent', notificationId, error: null };
    }
    // A delivery that will be retried is stored, with its error, before `process` resolves.
    const [kept] = await store.deliveries.list({ ownerId, notificationId, limit: 1 });
    const error = kept?.error ?? outcome.error;
    return {
      isSent: false,
      state: null,
      notificationId,
      error: isRetryScheduled ? `${error}. It will be retried.` : error,
    };
  };
}

/** A connected device acknowledges immediately; the page does not wait long for a disconnected one. */
const receiptMs = 2000;

/** Quiet hours do not apply to test sends. */
function planFor(channel: ChannelDefinition, target: ChannelTarget): Plan {
  return [{ channel, enabled: true, targets: [target], skipReason: null }];
}

const testRequest: NormalizedRequest = {
  content: testContent,
  sendPush: false,
  sendEmail: false,
  sendMqtt: false,
  strictDelivery: false,
  deviceId: null,
  mqttQos: 1,
  customBroker: null,
};
