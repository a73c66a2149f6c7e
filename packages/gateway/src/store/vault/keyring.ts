// Every owner's rows are sealed with a data key of the owner's own, which is kept wrapped by the master key. Losing one
// owner's key loses that owner's rows and no others; rotating the master key rewraps data keys and touches no row.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { DecryptionFailed, EncryptionKeyMissing } from '../../usecases/ports/index.ts';
import type { Database, EncryptionKey } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { type CipherContext, decrypt, encrypt, keyVersionOf } from './cipher.ts';
import type { MasterKeyring } from './master-keyring.ts';

const maxRemembered = 10_000;

export class Keyring {
  /** Seals what has to open even where the data key of an owner is lost: without it nobody could be let in and told. */
  readonly master: MasterKeyring;
  readonly #database: Database;
  readonly #remembered = new Map<string, EncryptionKey[]>();
  /** Being read at this moment: a burst of requests for one owner asks once. */
  readonly #loading = new Map<string, Promise<EncryptionKey[]>>();

  constructor(database: Database, master: MasterKeyring) {
    this.#database = database;
    this.master = master;
  }

  /** A first data key for a new owner, and the row that keeps it wrapped. */
  create(master: EncryptionKey, ownerId: string, now: number): { key: EncryptionKey; row: Tables['data_keys'] } {
    const version = 1;
    const bytes = randomBytes(32);
    const wrapped = encrypt(master, dataKeyContext(ownerId, version), bytes);
    return {
      key: { version, key: createSecretKey(bytes) },
      row: { owner_id: ownerId, version, wrapped, created_at: now },
    };
  }

  /** The newest key of an owner, for sealing. */
  async current(ownerId: string): Promise<EncryptionKey> {
    const keys = this.#remembered.get(ownerId) ?? (await this.#obtain(ownerId));
    return keys[0] ?? missing(ownerId);
  }

  /** Every key of an owner, the newest first. */
  async all(ownerId: string): Promise<EncryptionKey[]> {
    return this.#remembered.get(ownerId) ?? (await this.#obtain(ownerId));
  }

  /** Opens a value that was sealed with any of the owner's keys. */
  async decrypt(context: CipherContext, sealed: Uint8Array): Promise<Buffer> {
    const version = keyVersionOf(sealed);
    const keys = this.#remembered.get(context.ownerId) ?? (await this.#obtain(context.ownerId));
    const key = keys.find((candidate) => candidate.version === version) ?? keys[0] ?? missing(context.ownerId);
    return decrypt(key, context, sealed);
  }

  forget(ownerId: string): void {
    this.#remembered.delete(ownerId);
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
    if (this.#remembered.size >= maxRemembered) {
      this.#remembered.delete(this.#remembered.keys().next().value as string);
    }
    this.#remembered.set(ownerId, keys);
    return keys;
  }

  async #unwrap(ownerId: string, version: number, wrapped: Uint8Array): Promise<KeyObject> {
    try {
      return createSecretKey(await this.master.decrypt(dataKeyContext(ownerId, version), wrapped));
    } catch (error) {
      if (!(error instanceof DecryptionFailed)) throw error;
      throw new EncryptionKeyMissing(`the data key of ${ownerId} does not open: ${error.message}`, { cause: error });
    }
  }
}

export function dataKeyContext(ownerId: string, version: number): CipherContext {
  return { table: 'data_keys', ownerId, rowId: String(version), column: 'wrapped' };
}

function missing(ownerId: string): never {
  throw new EncryptionKeyMissing(`there is no data key for ${ownerId}`);
}
