// Sends that went on after their response was given: how they end is written down, whichever way that is.
import { setTimeout as delay } from 'node:timers/promises';
import { isAccepted, type Outcome } from '../core/outcome.ts';
import type { DeliveryResult } from '../core/response.ts';
import {
  type Delivery,
  type Dispatch,
  type Notification,
  type Store,
  StoreUnavailable,
} from '../usecases/ports/index.ts';
import { afterLateSend, queuesOf, type Standing } from './dispatch.ts';
import type { Park, Settle } from './record.ts';
import type { Recovery } from './recovery.ts';

/** Between two tries to write down how sends ended. */
const writeAgainMs = 1000;

export interface LateSendParts {
  store: Pick<Store, 'deliveries' | 'targetQueues'>;
  settle: Settle;
  recovery: Pick<Recovery, 'note'>;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
}

export interface LateSend {
  notification: Notification;
  dispatch: Dispatch;
  standing: Required<Standing>;
  /** What `park` gave. */
  parked: Awaited<ReturnType<Park>>;
  end: Promise<DeliveryResult>;
}

export class LateSends {
  readonly #parts: LateSendParts;
  readonly #running = new Set<Promise<void>>();

  constructor(parts: LateSendParts) {
    this.#parts = parts;
  }

  follow(send: LateSend): void {
    const running = this.#finish(send)
      .catch(this.#parts.onFailed)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all have ended and are written down. */
  async close(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #finish({ notification, dispatch, standing, parked, end }: LateSend): Promise<void> {
    const { store, settle, recovery, now } = this.#parts;
    const result = await end;
    const { late, joined } = standing;
    recovery.note({
      push: late.has('push') ? result.push : [],
      email: late.has('email') ? result.email : [],
      mqtt: late.has('mqtt') ? result.mqtt : [],
    });
    if (parked === null) {
      await settle(notification, dispatch, result, { joined });
      return;
    }
    if (parked === undefined) return;
    const { deliveries, leaseUntil } = parked;
    await this.#write(
      deliveries.map((delivery) => afterLateSend(delivery, outcomeFor(delivery, dispatch, result), this.#parts)),
      leaseUntil,
    );
    for (const delivery of deliveries) {
      const isSent = isAccepted(outcomeFor(delivery, dispatch, result));
      // What joined meanwhile need not wait: the target is there.
      await store.targetQueues.release({ ...delivery, leaseUntil }, isSent ? { at: now() } : {});
    }
  }

  /** After the lease another process sends once more what is not written down by then. */
  async #write(changed: readonly Delivery[], leaseUntil: number): Promise<void> {
    for (;;) {
      try {
        return await this.#parts.store.deliveries.update(changed);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#parts.now() > leaseUntil) throw error;
        this.#parts.onFailed(error);
        await delay(writeAgainMs);
      }
    }
  }
}

function outcomeFor({ ownerId, channel, target }: Delivery, dispatch: Dispatch, result: DeliveryResult): Outcome {
  const place = queuesOf(ownerId, dispatch)
    .filter((queue) => queue.channel === channel)
    .findIndex((queue) => queue.target === target);
  return result[channel][place] as Outcome;
}
