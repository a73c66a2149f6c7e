// What became of a notification at one target, in words.
import type { DeliveryEntry } from '@tocsin/contract/console';
import { text } from '../text/index.ts';
import { stripBidiControls } from './text-direction.ts';

export interface DeliveryWords {
  /** Whom: `Push · Pixel 8`. */
  target: string;
  /** What happened: `tried again 2 times, next at 14:05: mail server unreachable`. */
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
} as const satisfies Record<DeliveryEntry['state'], DeliveryWords['tone']>;

export function deliveryWords(delivery: DeliveryEntry, now: number, clock: (at: number) => string): DeliveryWords {
  const { state, error } = delivery;
  const words = text.inbox.delivery;
  const outcome = stateWords(delivery, now, clock);
  return {
    target: targetWords(delivery),
    outcome:
      state === 'sent' || state === 'sending' || error === null
        ? outcome
        : words.why(outcome, stripBidiControls(error)),
    tone: tones[state],
    canRetry: state === 'waiting' || state === 'dead',
  };
}

function targetWords({ channel, name }: DeliveryEntry): string {
  const word = text.inbox.channel[channel];
  if (channel === 'email' && name === null) return word;
  return text.inbox.channelAndName(word, name ?? text.inbox.removedTarget);
}

function stateWords(
  { channel, state, retries, nextAt, endedAt }: DeliveryEntry,
  now: number,
  clock: (at: number) => string,
): string {
  const words = text.inbox.delivery;
  if (state === 'delivered') return endedAt === null ? words.delivered : words.deliveredAt(clock(endedAt));
  // What a broker other than the embedded one does with a message is not known here.
  if (state === 'sent' && channel === 'mqtt') return words.accepted;
  if (state === 'sent') return retries === 0 ? words.sent : words.sentLater(retries);
  if (state === 'dead') return retries === 0 ? words.dead : words.deadAfter(retries);
  if (state !== 'waiting') return words[state];
  const waiting = words.waiting(retries);
  if (nextAt === null) return waiting;
  return nextAt <= now ? words.nextNow(waiting) : words.nextAt(waiting, clock(nextAt));
}
