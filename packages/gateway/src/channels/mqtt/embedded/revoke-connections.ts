// Disconnects devices that were deleted, paused or deactivated, or whose password was changed. Checks only while devices
// are connected.
import { isPublishable } from '../../../core/recipients.ts';
import { type DeviceCredentials, type Store, StoreUnavailable } from '../../../usecases/ports/index.ts';
import type { Connection, Connections, Identity } from './connections.ts';
import { listCredentials } from './credential-reader.ts';
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
      // A connection that signs in during the read of the credentials may have newer ones.
      const due = [...connections].filter(
        ({ identity, checkedGeneration }) => identity !== null && checkedGeneration !== generation,
      );
      const found = await listCredentials(store.devices, [...new Set(due.map(deviceIdOf))]);
      for (const connection of due) this.#check(connection, found.get(deviceIdOf(connection)), generation);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onFailed(error);
    }
  }

  #check(connection: Connection, found: DeviceCredentials | undefined, generation: number): void {
    const { onRevoked, onDeleted } = this.#deps;
    const { ownerId, deviceId, secretDigest } = connection.identity as Identity;
    if (found?.secretDigest === secretDigest && isPublishable(found)) connection.checkedGeneration = generation;
    else onRevoked(connection);
    if (found === undefined) onDeleted(ownerId, deviceId);
  }
}

function deviceIdOf({ identity }: Connection): string {
  return (identity as Identity).deviceId;
}
