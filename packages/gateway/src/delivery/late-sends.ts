// Sends that outlive the response: their results are written when they end.
import { setTimeout as delay } from 'node:timers/promises';
import { targetIdsOf } from '../core/dispatch.ts';
import { isAccepted, type Outcome } from '../core/outcome.ts';
import { type DeliveryResult, outcomesOf } from '../core/response.ts';
import {
  type Delivery,
  type Dispatch,
  type Notification,
  type Store,
  StoreUnavailable,
} from '../usecases/ports/index.ts';
import { afterLateSend, type TargetStates } from './dispatch.ts';
import type { Park, RecordResult } from './record.ts';
import type { Recovery } from './recovery.ts';

/** Delay between two attempts to write results. */
const rewriteMs = 1000;

export interface LateSendDeps {
  store: Pick<Store, 'deliveries' | 'targetQueues'>;
  record: RecordResult;
  recovery: Pick<Recovery, 'note'>;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
}

export interface LateSend {
  notification: Notification;
  dispatch: Dispatch;
  states: Required<TargetStates>;
  /** The result of `park`. */
  parked: Awaited<ReturnType<Park>>;
  end: Promise<DeliveryResult>;
}

export class LateSends {
  readonly #deps: LateSendDeps;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: LateSendDeps) {
    this.#deps = deps;
  }

  follow(send: LateSend): void {
    const running = this.#finish(send)
      .catch(this.#deps.onFailed)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all sends have ended and their results are written. */
  async close(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #finish({ notification, dispatch, states, parked, end }: LateSend): Promise<void> {
    const { store, record, recovery, now } = this.#deps;
    const result = await end;
    const { late, joined } = states;
    recovery.note(Object.fromEntries([...late].map((channel) => [channel, outcomesOf(result, channel)])));
    if (parked === null) {
      await record(notification, dispatch, result, { joined });
      return;
    }
    if (parked === undefined) return;
    const { deliveries, leaseUntil } = parked;
    await this.#write(
      deliveries.map((delivery) => afterLateSend(delivery, outcomeFor(delivery, dispatch, result), this.#deps)),
      leaseUntil,
    );
    for (const delivery of deliveries) {
      const isSent = isAccepted(outcomeFor(delivery, dispatch, result));
      // The target can be reached, so deliveries that joined its queue meanwhile are due now.
      await store.targetQueues.release({ ...delivery, leaseUntil }, isSent ? { at: now() } : {});
    }
  }

  /** When the lease expires, another process sends again what is not written by then. */
  async #write(changed: readonly Delivery[], leaseUntil: number): Promise<void> {
    for (;;) {
      try {
        return await this.#deps.store.deliveries.update(changed);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#deps.now() > leaseUntil) throw error;
        this.#deps.onFailed(error);
        await delay(rewriteMs);
      }
    }
  }
}

function outcomeFor({ channel, target }: Delivery, dispatch: Dispatch, result: DeliveryResult): Outcome {
  return outcomesOf(result, channel)[targetIdsOf(dispatch, channel).indexOf(target)] as Outcome;
}
