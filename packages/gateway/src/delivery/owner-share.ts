// Limits the concurrent sends of one owner on a channel whose addresses callers choose: a target that never responds
// occupies only the capacity of its own owner.
import { type Channel, type ChannelTarget, withSend } from '../core/channel.ts';
import { retry } from '../core/outcome.ts';

export interface OwnerShareOptions {
  /** For people, at the start of a sentence. */
  provider: string;
  /** Sends of one owner that run at once. */
  running: number;
  /** Further sends of one owner that wait. */
  waiting: number;
}

interface Share {
  running: number;
  /** Each starts the next send. */
  queue: Set<() => void>;
}

export function shareByOwner<Target extends ChannelTarget>(
  channel: Channel<Target>,
  options: OwnerShareOptions,
): Channel<Target> {
  const shares = new Map<string, Share>();

  /** Resolves with true when the send may start; false when too many wait, or the signal aborted first. */
  function acquire(ownerId: string, signal: AbortSignal): Promise<boolean> | boolean {
    const share = shares.get(ownerId) ?? { running: 0, queue: new Set() };
    shares.set(ownerId, share);
    if (share.running < options.running) {
      share.running += 1;
      return true;
    }
    if (share.queue.size >= options.waiting || signal.aborted) return false;
    return new Promise((resolve) => {
      const start = (): void => {
        signal.removeEventListener('abort', cancel);
        resolve(true);
      };
      const cancel = (): void => {
        share.queue.delete(start);
        resolve(false);
      };
      share.queue.add(start);
      signal.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Hands the capacity to the next send that waits. */
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

  return withSend(channel, async (notification, targets, sendOptions, signal) => {
    const { ownerId } = notification;
    if (!(await acquire(ownerId, signal))) {
      const error = `${options.provider}: too many messages of this owner are waiting`;
      return targets.map(() => retry('not_attempted', error));
    }
    try {
      return await channel.send(notification, targets, sendOptions, signal);
    } finally {
      release(ownerId);
    }
  });
}
