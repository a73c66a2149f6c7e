// Devices that were deleted, paused or deactivated lose their connections. Checked only while devices are connected.
import { isPublishable } from '../../../core/recipients.ts';
import { type Store, StoreUnavailable } from '../../../usecases/ports/index.ts';
import type { Connection, Connections } from './connections.ts';
import { limits } from './limits.ts';

export interface RecheckParts {
  store: Pick<Store, 'changes' | 'devices'>;
  connections: Connections;
  onRevoked(connection: Connection): void;
  /** The device was deleted. */
  onGone(ownerId: string, deviceId: string): void;
  onFailed(error: unknown): void;
}

export class Recheck {
  readonly #parts: RecheckParts;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: RecheckParts) {
    this.#parts = parts;
  }

  /** A device has connected. */
  wake(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#look().then(() => {
        this.#timer = undefined;
        if (this.#parts.connections.deviceIds().length > 0) this.wake();
      });
    }, limits.recheckMs).unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #look(): Promise<void> {
    const { store, connections, onFailed } = this.#parts;
    try {
      const { generation } = await store.changes.read();
      const isDue = ({ checkedGeneration }: Connection): boolean => checkedGeneration !== generation;
      const due = connections.deviceIds().filter((id) => [...connections.ofDevice(id)].some(isDue));
      await Promise.all(due.map((id) => this.#check(id, generation)));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onFailed(error);
    }
  }

  async #check(deviceId: string, generation: number): Promise<void> {
    const { store, connections, onRevoked, onGone } = this.#parts;
    const present = [...connections.ofDevice(deviceId)];
    const found = await store.devices.find(deviceId);
    for (const connection of present) {
      const isSame = found !== null && found.secretDigest === connection.identity?.secretDigest;
      if (isSame && isPublishable(found.device)) connection.checkedGeneration = generation;
      else onRevoked(connection);
    }
    const ownerId = present[0]?.identity?.ownerId;
    if (found === null && ownerId !== undefined) onGone(ownerId, deviceId);
  }
}
