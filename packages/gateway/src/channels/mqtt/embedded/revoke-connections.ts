// Disconnects devices that were deleted, paused or deactivated, or whose password was changed. Checks only while devices
// are connected.
import { isPublishable } from '../../../core/recipients.ts';
import { type Store, StoreUnavailable } from '../../../usecases/ports/index.ts';
import type { Connection, Connections } from './connections.ts';
import { limits } from './limits.ts';

export interface RevocationCheckDeps {
  store: Pick<Store, 'changes' | 'devices'>;
  connections: Connections;
  onRevoked(connection: Connection): void;
  /** The device was deleted. */
  onDeleted(ownerId: string, deviceId: string): void;
  onFailed(error: unknown): void;
}

export class RevocationCheck {
  readonly #deps: RevocationCheckDeps;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: RevocationCheckDeps) {
    this.#deps = deps;
  }

  /** A device has connected, so the check has to run. */
  wake(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run().then(() => {
        this.#timer = undefined;
        if (this.#deps.connections.deviceIds().length > 0) this.wake();
      });
    }, limits.revocationCheckMs).unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, connections, onFailed } = this.#deps;
    try {
      const { generation } = await store.changes.read();
      const isDue = ({ checkedGeneration }: Connection): boolean => checkedGeneration !== generation;
      const due = connections.deviceIds().filter((id) => [...connections.ofDevice(id)].some(isDue));
      await Promise.all(due.map((id) => this.#checkDevice(id, generation)));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onFailed(error);
    }
  }

  async #checkDevice(deviceId: string, generation: number): Promise<void> {
    const { store, connections, onRevoked, onDeleted } = this.#deps;
    const present = [...connections.ofDevice(deviceId)];
    const found = await store.devices.find(deviceId);
    for (const connection of present) {
      const isPasswordUnchanged = found !== null && found.secretDigest === connection.identity?.secretDigest;
      if (isPasswordUnchanged && isPublishable(found.device)) connection.checkedGeneration = generation;
      else onRevoked(connection);
    }
    const ownerId = present[0]?.identity?.ownerId;
    if (found === null && ownerId !== undefined) onDeleted(ownerId, deviceId);
  }
}
