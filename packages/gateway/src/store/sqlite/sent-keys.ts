// The keys that the writer thread has. They are replaced often enough that keys of deleted owners do not stay in memory.
import type { EncryptionKey } from '../schema/database.ts';
import type { NamedKey } from './protocol.ts';

const maxKeys = 1000;
const maxAgeMs = 60_000;

export class SentKeys {
  readonly #now: () => number;
  #keys = new Map<string, EncryptionKey>();
  #thread = Number.NaN;
  #since = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** What a batch with these keys has to bring to the thread with this number. */
  toSend(thread: number, wanted: ReadonlyMap<string, EncryptionKey>): { keys: NamedKey[]; isNewKeySet: boolean } {
    const isNewKeySet =
      thread !== this.#thread || this.#now() - this.#since > maxAgeMs || this.#keys.size + wanted.size > maxKeys;
    if (isNewKeySet) {
      this.#keys = new Map();
      this.#thread = thread;
      this.#since = this.#now();
    }
    const keys: NamedKey[] = [];
    for (const [name, key] of wanted) {
      // An owner that was deleted and created again has another key of the same name.
      if (this.#keys.get(name)?.key === key.key) continue;
      this.#keys.set(name, key);
      keys.push({ name, version: key.version, key: key.key });
    }
    return { keys, isNewKeySet };
  }
}
