// How many deliveries of one owner may wait for a retry, so that unreachable targets of one owner cannot fill the disk.
import { BoundedMap } from '../core/bounded-map.ts';
import type { DeliveryRepository } from '../usecases/ports/index.ts';

/** A count from the store is used for this long; deliveries that this process adds meanwhile are counted on top. */
const freshMs = 1000;
const maxOwners = 10_000;

interface Usage {
  count: number;
  since: number;
  refreshing: Promise<void> | null;
  /** Added while the store was counting. */
  added: number;
}

export class RetryQuota {
  readonly #deliveries: Pick<DeliveryRepository, 'countWaiting'>;
  readonly #limit: number;
  readonly #monotonicNow: () => number;
  readonly #used = new BoundedMap<string, Usage>(maxOwners);

  constructor(deliveries: Pick<DeliveryRepository, 'countWaiting'>, limit: number, monotonicNow: () => number) {
    this.#deliveries = deliveries;
    this.#limit = limit;
    this.#monotonicNow = monotonicNow;
  }

  /** Counts the waiting deliveries of the owner, unless a recent count is known. */
  async refresh(ownerId: string): Promise<void> {
    const usage = this.#usageOf(ownerId);
    const now = this.#monotonicNow();
    if (now - usage.since < freshMs) return;
    usage.refreshing ??= this.#count(ownerId, usage, now).finally(() => {
      usage.refreshing = null;
    });
    await usage.refreshing;
  }

  remaining(ownerId: string): number {
    return this.#limit - this.#usageOf(ownerId).count;
  }

  /** A negative count gives back what was reserved. */
  reserve(ownerId: string, count: number): void {
    const usage = this.#usageOf(ownerId);
    usage.count += count;
    usage.added += count;
  }

  async #count(ownerId: string, usage: Usage, since: number): Promise<void> {
    usage.added = 0;
    const count = await this.#deliveries.countWaiting(ownerId);
    usage.count = count + usage.added;
    usage.since = since;
  }

  #usageOf(ownerId: string): Usage {
    let usage = this.#used.get(ownerId);
    if (usage === undefined) {
      usage = { count: 0, since: Number.NEGATIVE_INFINITY, refreshing: null, added: 0 };
      this.#used.set(ownerId, usage);
    }
    return usage;
  }
}
