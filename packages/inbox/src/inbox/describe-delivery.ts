// Describes the delivery status of one target.
import type { DeliveryEntry, ServiceInfo } from '@tocsin/contract/console';
import { presentChannel } from '../channels.ts';
import { text } from '../text/index.ts';
import { stripBidiControls } from './text-direction.ts';

export interface DeliveryDescription {
  /** Such as `Push · Pixel 8`. */
  target: string;
  /** Such as `retried 2 times, next attempt at 14:05: connection refused`. */
  outcome: string;
  tone: 'good' | 'busy' | 'warning' | 'error';
  canRetry: boolean;
}

const tones = {
  sending: 'busy',
  sent: 'good',
  queued: 'busy',
  delivered: 'good',
  waiting: 'warning',
  dead: 'error',
  gone: 'error',
  rejected: 'error',
} as const satisfies Record<DeliveryEntry['state'], DeliveryDescription['tone']>;

export function describeDelivery(
  delivery: DeliveryEntry,
  now: number,
  clock: (at: number) => string,
  channels: ServiceInfo['channels'] = [],
): DeliveryDescription {
  const { state, error } = delivery;
  const words = text.inbox.delivery;
  const outcome = describeState(delivery, now, clock);
  return {
    target: describeTarget(delivery, channels),
    outcome:
      state === 'sent' || state === 'sending' || error === null
        ? outcome
        : words.why(outcome, stripBidiControls(error)),
    tone: tones[state],
    canRetry: state === 'waiting' || state === 'dead',
  };
}

function describeTarget({ channel, target, name }: DeliveryEntry, channels: ServiceInfo['channels']): string {
  const { label } = presentChannel(channel, channels);
  // An empty id means that the channel has one target only.
  if (target === '' && name === null) return label;
  return text.inbox.channelAndName(label, name ?? text.inbox.removedTarget);
}

function describeState(
  { channel, state, retries, nextAt, endedAt }: DeliveryEntry,
  now: number,
  clock: (at: number) => string,
): string {
  const words = text.inbox.delivery;
  if (state === 'delivered') return endedAt === null ? words.delivered : words.deliveredAt(clock(endedAt));
  // Only the embedded broker reports acknowledgements of devices.
  if (state === 'sent' && channel === 'mqtt') return words.accepted;
  if (state === 'sent') return retries === 0 ? words.sent : words.sentLater(retries);
  if (state === 'dead') return retries === 0 ? words.dead : words.deadAfter(retries);
  if (state !== 'waiting') return words[state];
  const waiting = words.waiting(retries);
  if (nextAt === null) return waiting;
  return nextAt <= now ? words.nextNow(waiting) : words.nextAt(waiting, clock(nextAt));
}
