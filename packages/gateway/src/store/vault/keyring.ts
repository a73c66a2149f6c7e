// Envelope encryption: every owner has a data key, which is stored wrapped (encrypted) by the master key. Losing a data key
// loses the rows of one owner; rotating the master key rewraps the data keys without changing rows.

import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import { DecryptionFailed, EncryptionKeyMissing } from '../../usecases/ports/index.ts';
import type { Database, EncryptionKey } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { type CipherContext, decrypt, encrypt, keyVersionOf } from './cipher.ts';
import type { MasterKeyring } from './master-keyring.ts';

const maxCached = 10_000;

export class Keyring {
  /** For rows that must be readable even if the data key of their owner is lost, such as API keys. */
  readonly master: MasterKeyring;
  readonly #database: Database;
  readonly #cache = new BoundedMap<string, EncryptionKey[]>(maxCached);
  /** Reads in progress, so that concurrent requests for one owner share one read. */
  readonly #loading = new Map<string, Promise<EncryptionKey[]>>();

  constructor(database: Database, master: MasterKeyring) {
    this.#database = database;
    this.master = master;
  }

  /** Creates the first data key of an owner, and the row with the wrapped key. */
  create(master: EncryptionKey, ownerId: string, now: number): { key: EncryptionKey; row: Tables['data_keys'] } {
    const version = 1;
    const bytes = randomBytes(32);
    const wrapped = encrypt(master, dataKeyContext(ownerId, version), bytes);
    return {
      key: { version, key: createSecretKey(bytes) },
      row: { owner_id: ownerId, version, wrapped, created_at: now },
    };
  }

  /** The newest key of an owner, for encryption. */
  async current(ownerId: string): Promise<EncryptionKey> {
    const keys = this.#cache.get(ownerId) ?? (await this.#obtain(ownerId));
    return keys[0] ?? missing(ownerId);
  }

  /** All keys of an owner, newest first. */
  async all(ownerId: string): Promise<EncryptionKey[]> {
    return this.#cache.get(ownerId) ?? (await this.#obtain(ownerId));
  }

  /** Decrypts a value that was encrypted with any of the owner's keys. */
  async decrypt(context: CipherContext, sealed: Uint8Array): Promise<Buffer> {
    const version = keyVersionOf(sealed);
    const keys = this.#cache.get(context.ownerId) ?? (await this.#obtain(context.ownerId));
    const key = keys.find((candidate) => candidate.version === version) ?? keys[0] ?? missing(context.ownerId);
    return decrypt(key, context, sealed);
  }

  forget(ownerId: string): void {
    this.#cache.delete(ownerId);
    this.#loading.delete(ownerId);
  }

  #obtain(ownerId: string): Promise<EncryptionKey[]> {
    const known = this.#loading.get(ownerId);
    if (known !== undefined) return known;
    const loading = this.#load(ownerId).finally(() => {
      if (this.#loading.get(ownerId) === loading) this.#loading.delete(ownerId);
    });
    this.#loading.set(ownerId, loading);
    return loading;
  }

  async #load(ownerId: string): Promise<EncryptionKey[]> {
    const rows = await this.#database.read(
      this.#database.build
        .selectFrom('data_keys')
        .select(['version', 'wrapped'])
        .where('owner_id', '=', ownerId)
        .orderBy('version', 'desc')
        .compile(),
    );
    const keys = await Promise.all(
      rows.map(async ({ version, wrapped }) => ({ version, key: await this.#unwrap(ownerId, version, wrapped) })),
    );
    if (keys.length === 0) return missing(ownerId);

    this.#cache.set(ownerId, keys);
    return keys;
  }

  async #unwrap(ownerId: string, version: number, wrapped: Uint8Array): Promise<KeyObject> {
    try {
      return createSecretKey(await this.master.decrypt(dataKeyContext(ownerId, version), wrapped));
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      throw new EncryptionKeyMissing(`the data key of ${ownerId} cannot be decrypted: ${error.message}`, {
        cause: error,
      });
    }
  }
}

export function dataKeyContext(ownerId: string, version: number): CipherContext {
  return { table: 'data_keys', ownerId, rowId: String(version), column: 'wrapped' };
}

function missing(ownerId: string): never {
  throw new EncryptionKeyMissing(`there is no data key for ${ownerId}`);
}
