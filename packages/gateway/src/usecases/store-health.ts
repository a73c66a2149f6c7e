// Last results of saves and key lookups in the store. A damaged database may pass every check of its own and still fail for
// callers, so readiness also depends on the last save and the last key lookup of this process and its workers.
import type { StoreFailure } from '../core/store-failure.ts';
import {
  DecryptionFailed,
  type DirectorySource,
  EncryptionKeyMissing,
  type NotificationWriter,
  type Store,
} from './ports/index.ts';

export class StoreHealth {
  readonly #failures = new Map<StoreFailure['kind'], StoreFailure>();
  readonly #ofWorkers = new Map<number, readonly StoreFailure[]>();
  readonly #onChange: (failures: readonly StoreFailure[]) => void;

  constructor(onChange: (failures: readonly StoreFailure[]) => void = () => undefined) {
    this.#onChange = onChange;
  }

  /** The failures of one worker, whenever they change; none once it has ended. */
  noteWorker(worker: number, failures: readonly StoreFailure[]): void {
    this.#ofWorkers.set(worker, failures);
  }

  watchSaves(notifications: NotificationWriter): NotificationWriter {
    return {
      save: (notification, options) =>
        this.#watch('save', notification.ownerId, () => notifications.save(notification, options)),
    };
  }

  watchDirectory(store: DirectorySource): DirectorySource {
    return {
      changes: store.changes,
      keys: { find: (digest) => this.#watch('key', digest, () => store.keys.find(digest)) },
      hooks: { find: (digest) => this.#watch('hook', digest, () => store.hooks.find(digest)) },
      owners: {
        recipientsOf: (ownerId) => this.#watch('recipients', ownerId, () => store.owners.recipientsOf(ownerId)),
      },
    };
  }

  /** Repeats what failed last; rejects where it fails again. So it recovers without any caller. */
  async check({ probe }: Pick<Store, 'probe'>): Promise<void> {
    for (const failure of [...this.#failures.values()]) {
      await probe(failure);
      if (this.#failures.get(failure.kind) === failure) this.#forget(failure.kind);
    }
    for (const [worker, failures] of [...this.#ofWorkers]) {
      for (const failure of failures) await probe(failure);
      if (this.#ofWorkers.get(worker) === failures) this.#ofWorkers.delete(worker);
    }
  }

  async #watch<T>(kind: StoreFailure['kind'], id: string, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      if (this.#failures.size > 0) this.#forget(kind);
      return result;
    } catch (error) {
      // A single row that cannot be decrypted keeps one key or one owner out, and is no failure of the store.
      const isOneRow = error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing;
      if (kind === 'save' || !isOneRow) this.#note({ kind, id });
      throw error;
    }
  }

  #note(failure: StoreFailure): void {
    const isNew = !this.#failures.has(failure.kind);
    this.#failures.set(failure.kind, failure);
    if (isNew) this.#onChange([...this.#failures.values()]);
  }

  #forget(kind: StoreFailure['kind']): void {
    if (this.#failures.delete(kind)) this.#onChange([...this.#failures.values()]);
  }
}
