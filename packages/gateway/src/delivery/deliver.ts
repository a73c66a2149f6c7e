// Sends one notification over several channels at once.
import {
  type Channel,
  type Channels,
  type ChannelTarget,
  longestSendMs,
  type SendOptions,
  timeoutOf,
} from '../core/channel.ts';
import { createDeadline } from '../core/deadline.ts';
import type { Notification } from '../core/notification.ts';
import type { Outcome } from '../core/outcome.ts';
import type { DeliveryResult } from '../core/response.ts';

/** The targets of one channel. */
export interface Send {
  channel: string;
  targets: readonly ChannelTarget[];
  /** The send continues after the response budget; otherwise it is aborted. */
  outlivesResponse: boolean;
}

export interface ResponseBudget {
  ms: number;
  /** Called with the outcomes of each channel as soon as they are known, within the budget. */
  onOutcomes: (channel: string, outcomes: readonly Outcome[]) => void;
}

export interface InTime {
  /** `null` for channels that were still sending at the end of the budget. */
  result: Readonly<Record<string, readonly Outcome[] | null>>;
  /** The result of all channels; null if it is known already. */
  late: Promise<DeliveryResult> | null;
}

const nothingSent: InTime = { result: {}, late: null };

/** Waits at most for the response budget. The sends have begun when this returns. */
export function deliverWithin(
  channels: Channels,
  notification: Notification,
  sends: readonly Send[],
  options: SendOptions,
  budget: ResponseBudget,
): Promise<InTime> {
  const active = sends.filter(({ targets }) => targets.length > 0);
  if (active.length === 0) return Promise.resolve(nothingSent);
  const { promise, resolve, reject } = Promise.withResolvers<InTime>();
  const known: Record<string, readonly Outcome[] | null> = {};
  let isOver = false;

  const begun = active.map(({ channel, targets, outlivesResponse }) => {
    known[channel] = null;
    const limitMs = outlivesResponse ? longestSendMs : budget.ms;
    return sendTo(channelNamed(channels, channel), notification, targets, options, limitMs).then((outcomes) => {
      if (!isOver) {
        known[channel] = outcomes;
        budget.onOutcomes(channel, outcomes);
      }
      return outcomes;
    });
  });
  const timer = setTimeout(() => {
    // Sends that were aborted just now settle at once, so their outcomes belong in the response.
    const aborted = begun.filter((_, index) => !active[index]?.outlivesResponse);
    void Promise.all(aborted).then(() => {
      isOver = true;
      resolve({ result: known, late: all });
    }, reject);
  }, budget.ms);
  const all = Promise.all(begun).then((outcomes): DeliveryResult => {
    clearTimeout(timer);
    return Object.fromEntries(active.map(({ channel }, index) => [channel, outcomes[index] as readonly Outcome[]]));
  });
  all.then(
    (result) => resolve({ result, late: null }),
    (error: unknown) => {
      clearTimeout(timer);
      reject(error);
    },
  );
  return promise;
}

/** The deadline that is set here is the only one of a send: guards and channels obey its signal. */
export async function sendTo(
  channel: Channel,
  notification: Notification,
  targets: readonly ChannelTarget[],
  options: SendOptions,
  limitMs = longestSendMs,
): Promise<readonly Outcome[]> {
  using deadline = createDeadline(Math.min(timeoutOf(channel, options), limitMs));
  return await channel.send(notification, targets, options, deadline.signal);
}

export function channelNamed(channels: Channels, name: string): Channel {
  const channel = channels.get(name);
  if (channel === undefined) throw new Error(`There is no channel ${name}`);
  return channel;
}
