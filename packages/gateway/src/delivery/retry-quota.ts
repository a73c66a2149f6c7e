// How much of one owner may wait to be delivered again, so that one who is never reached does not fill the disk.
import { BoundedMap } from '../core/bounded-map.ts';
import type { DeliveryRepository } from '../usecases/ports/index.ts';

/** A count from the store is believed for this long; what this process adds meanwhile is counted on. */
const believedMs = 1000;
const maxOwners = 10_000;

interface Taken {
  count: number;
  since: number;
  asking: Promise<void> | null;
  /** Added while the store was being asked. */
  added: number;
}

export class WaitingRoom {
  readonly #deliveries: Pick<DeliveryRepository, 'countWaiting'>;
  readonly #seats: number;
  readonly #monotonicNow: () => number;
  readonly #taken = new BoundedMap<string, Taken>(maxOwners);

  constructor(deliveries: Pick<DeliveryRepository, 'countWaiting'>, seats: number, monotonicNow: () => number) {
    this.#deliveries = deliveries;
    this.#seats = seats;
    this.#monotonicNow = monotonicNow;
  }

  /** Learns how much of the owner waits, where that is not known well enough. */
  async ask(ownerId: string): Promise<void> {
    const taken = this.#of(ownerId);
    const now = this.#monotonicNow();
    if (now - taken.since < believedMs) return;
    taken.asking ??= this.#count(ownerId, taken, now).finally(() => {
      taken.asking = null;
    });
    await taken.asking;
  }

  roomFor(ownerId: string): number {
    return this.#seats - this.#of(ownerId).count;
  }

  take(ownerId: string, count: number): void {
    const taken = this.#of(ownerId);
    taken.count += count;
    taken.added += count;
  }

  async #count(ownerId: string, taken: Taken, since: number): Promise<void> {
    taken.added = 0;
    const count = await this.#deliveries.countWaiting(ownerId);
    taken.count = count + taken.added;
    taken.since = since;
  }

  #of(ownerId: string): Taken {
    let taken = this.#taken.get(ownerId);
    if (taken === undefined) {
      taken = { count: 0, since: Number.NEGATIVE_INFINITY, asking: null, added: 0 };
      this.#taken.set(ownerId, taken);
    }
    return taken;
  }
}
