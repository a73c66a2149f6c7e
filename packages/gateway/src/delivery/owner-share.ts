// What one owner may have running at once on a channel that owners point wherever they like: targets that never answer
// take up the places of that owner alone.

import { createDeadline } from '../core/deadline.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Channel } from '../usecases/ports/index.ts';

export interface OwnerShareOptions {
  /** For people, at the start of a sentence. */
  provider: string;
  /** Covers the wait for a place, too. */
  timeoutMs: number;
  /** Sends of one owner that run at once. */
  running: number;
  /** Further sends of one owner that wait for their turn. */
  waiting: number;
}

interface Share {
  running: number;
  /** Each starts the next send. */
  queue: Set<() => void>;
}

export function shareByOwner<Target>(channel: Channel<Target>, options: OwnerShareOptions): Channel<Target> {
  const shares = new Map<string, Share>();

  /** Resolves with whether there is a place now; false when too many wait, or the signal aborted first. */
  function take(ownerId: string, signal: AbortSignal): Promise<boolean> | boolean {
    const share = shares.get(ownerId) ?? { running: 0, queue: new Set() };
    shares.set(ownerId, share);
    if (share.running < options.running) {
      share.running += 1;
      return true;
    }
    if (share.queue.size >= options.waiting || signal.aborted) return false;
    return new Promise((resolve) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve(true);
      };
      const giveUp = (): void => {
        share.queue.delete(start);
        resolve(false);
      };
      share.queue.add(start);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** The next in line takes the place over. */
  function release(ownerId: string): void {
    const share = shares.get(ownerId) as Share;
    const [next] = share.queue;
    if (next !== undefined) {
      share.queue.delete(next);
      next();
      return;
    }
    share.running -= 1;
    if (share.running === 0) shares.delete(ownerId);
  }

  return {
    async send(notification, targets, sendOptions, requestSignal) {
      const { ownerId } = notification;
      using deadline = createDeadline(options.timeoutMs, requestSignal);
      if (!(await take(ownerId, deadline.signal))) {
        const error = `${options.provider}: too much of this owner is waiting`;
        return targets.map((): Outcome => ({ kind: 'retry', reason: 'not_attempted', error }));
      }
      try {
        return await channel.send(notification, targets, sendOptions, deadline.signal);
      } finally {
        release(ownerId);
      }
    },
  };
}
