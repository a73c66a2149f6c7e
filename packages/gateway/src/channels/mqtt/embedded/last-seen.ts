// When each device was last seen, for its owner. Written in the background, many devices at a time.
import { type DeviceRepository, StoreUnavailable } from '../../../usecases/ports/index.ts';
import type { Connections } from './connections.ts';
import { limits } from './limits.ts';

export interface LastSeenDeps {
  devices: Pick<DeviceRepository, 'touch'>;
  connections: Connections;
  now(): number;
  onFailed(error: unknown): void;
}

export class LastSeen {
  readonly #deps: LastSeenDeps;
  /** Devices that signed in since the last write; some have disconnected since. */
  readonly #signedIn = new Set<string>();
  /** Devices that were written within `lastSeenEveryMs`, and when. */
  readonly #recordedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: LastSeenDeps) {
    this.#deps = deps;
  }

  signedIn(deviceId: string): void {
    this.#signedIn.add(deviceId);
    this.#wake();
  }

  /** Resolves after a last write. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#write();
  }

  #wake(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#write().then(() => {
        this.#timer = undefined;
        // Devices may have connected and disconnected during the write.
        if (this.#signedIn.size > 0 || this.#deps.connections.deviceIds().length > 0) this.#wake();
      });
    }, limits.lastSeenMs).unref();
  }

  async #write(): Promise<void> {
    const { devices, now, onFailed } = this.#deps;
    const at = now();
    for (const [id, recordedAt] of this.#recordedAt) {
      if (at - recordedAt >= limits.lastSeenEveryMs) this.#recordedAt.delete(id);
    }
    const due = this.#takeActive().filter((id) => !this.#recordedAt.has(id));
    if (due.length === 0) return;
    for (const id of due) this.#recordedAt.set(id, at);
    try {
      await devices.touch(due, at);
    } catch (error) {
      // The device is written again after `lastSeenEveryMs`.
      if (!(error instanceof StoreUnavailable)) onFailed(error);
    }
  }

  #takeActive(): string[] {
    const { connections } = this.#deps;
    const active = new Set(this.#signedIn);
    this.#signedIn.clear();
    for (const { inspector, identity } of connections) {
      if (identity !== null && !this.#recordedAt.has(identity.deviceId) && inspector.takeActivity()) {
        active.add(identity.deviceId);
      }
    }
    return [...active];
  }
}
