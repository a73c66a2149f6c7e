// How much of one owner may wait to be delivered again, so that one who is never reached does not fill the disk.
import type { DeliveryStore } from './ports.ts';

/** A count from the store is believed for this long; what this process adds meanwhile is counted on. */
const believedMs = 1000;
const maxOwners = 10_000;

export class WaitingRoom {
  readonly #store: Pick<DeliveryStore, 'countWaiting'>;
  readonly #seats: number;
  readonly #monotonicNow: () => number;
  readonly #taken = new Map<string, { count: number; since: number }>();

  constructor(store: Pick<DeliveryStore, 'countWaiting'>, seats: number, monotonicNow: () => number) {
    this.#store = store;
    this.#seats = seats;
    this.#monotonicNow = monotonicNow;
  }

  /** Learns how much of the owner waits, where that is not known well enough. */
  async ask(ownerId: string): Promise<void> {
    const known = this.#taken.get(ownerId);
    const now = this.#monotonicNow();
    if (known !== undefined && now - known.since < believedMs) return;
    const count = await this.#store.countWaiting(ownerId);
    if (this.#taken.size >= maxOwners) this.#taken.delete(this.#taken.keys().next().value as string);
    this.#taken.set(ownerId, { count, since: now });
  }

  roomFor(ownerId: string): number {
    return this.#seats - (this.#taken.get(ownerId)?.count ?? 0);
  }

  take(ownerId: string, count: number): void {
    const known = this.#taken.get(ownerId);
    if (known !== undefined) known.count += count;
  }
}
