// When devices were last heard of, for their owners: written in the background, many at a time.
import { type DeviceRepository, StoreUnavailable } from '../../../usecases/ports/index.ts';
import type { Connections } from './connections.ts';
import { limits } from './limits.ts';

export interface LastSeenParts {
  devices: Pick<DeviceRepository, 'touch'>;
  connections: Connections;
  now(): number;
  onFailed(error: unknown): void;
}

export class LastSeen {
  readonly #parts: LastSeenParts;
  /** Signed in since the last look; some are gone again by then. */
  readonly #signedIn = new Set<string>();
  /** Of those that were noted within the last minute. */
  readonly #notedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: LastSeenParts) {
    this.#parts = parts;
  }

  signedIn(deviceId: string): void {
    this.#signedIn.add(deviceId);
    this.#wake();
  }

  /** After a last look. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#look();
  }

  #wake(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#look().then(() => {
        this.#timer = undefined;
        // Some came and went while this was being written.
        if (this.#signedIn.size > 0 || this.#parts.connections.deviceIds().length > 0) this.#wake();
      });
    }, limits.lastSeenMs).unref();
  }

  async #look(): Promise<void> {
    const { devices, now, onFailed } = this.#parts;
    const at = now();
    for (const [id, notedAt] of this.#notedAt) {
      if (at - notedAt >= limits.lastSeenEveryMs) this.#notedAt.delete(id);
    }
    const due = this.#heardOf().filter((id) => !this.#notedAt.has(id));
    if (due.length === 0) return;
    for (const id of due) this.#notedAt.set(id, at);
    try {
      await devices.touch(due, at);
    } catch (error) {
      // The next minute brings the next chance.
      if (!(error instanceof StoreUnavailable)) onFailed(error);
    }
  }

  #heardOf(): string[] {
    const { connections } = this.#parts;
    const heard = new Set(this.#signedIn);
    this.#signedIn.clear();
    for (const { gauge, identity } of connections) {
      if (identity !== null && !this.#notedAt.has(identity.deviceId) && gauge.takeHeard()) heard.add(identity.deviceId);
    }
    return [...heard];
  }
}
