// The master keys by version. For each active version there is a proof in `meta`, a value encrypted with that key, by which
// a process finds out which of its keys it is. One version is active, or two during a rotation; a running process loads a
// new version when it first needs it.
import type { KeyObject } from 'node:crypto';
import { type CompiledQuery, sql } from 'kysely';
import { Problem } from '../../core/problem.ts';
import { DecryptionFailed, StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Database, EncryptionKey, QueryResult } from '../schema/database.ts';
import { type CipherContext, decrypt, encrypt, keyVersionOf } from './cipher.ts';
import type { MasterKeySource } from './master-key.ts';

const firstProof = 'master_key_proof';
/** Whether a row of `meta` is a proof. */
export const isProof = sql<boolean>`(name = ${sql.lit(firstProof)} or name like ${sql.lit(`${firstProof}:%`)})`;

/** Reads of proofs and keys, which may change in between. */
const maxAttempts = 3;

interface Proof {
  version: number;
  value: Uint8Array;
}

export class MasterKeyring {
  readonly source: MasterKeySource;
  readonly #database: Database;
  readonly #onMissing: (message: string) => void;
  /** Retired keys are kept, for rows that were read just before the rotation ended. */
  readonly #keys = new Map<number, EncryptionKey>();
  /** Active versions (those with a proof), newest first. */
  #versions: readonly number[] = [];
  #refreshing: Promise<void> | null = null;
  #reportedMissing = '';

  private constructor(database: Database, source: MasterKeySource, onMissing: (message: string) => void) {
    this.#database = database;
    this.source = source;
    this.#onMissing = onMissing;
  }

  /** Rejects with a Problem if an active master key is missing. `onMissing` is called if one is missing later. */
  static async open(
    database: Database,
    source: MasterKeySource,
    onMissing: (message: string) => void,
  ): Promise<MasterKeyring> {
    const keyring = new MasterKeyring(database, source, onMissing);
    for (let attempt = 1; ; attempt += 1) {
      const proofs = await keyring.#readProofs();
      if (proofs.length === 0) {
        await keyring.#proveFirst();
        continue;
      }
      keyring.#learn(proofs);
      if (keyring.missing.length === 0) return keyring;
      if (attempt === maxAttempts) throw new Problem(keyring.#describeMissing());
    }
  }

  /** The newest active key that this process has, for encryption. */
  get current(): EncryptionKey {
    const version = this.#versions.find((each) => this.#keys.has(each));
    if (version === undefined) throw new StoreUnavailable(this.#describeMissing());
    return this.key(version);
  }

  /** Active versions, newest first. */
  get versions(): readonly number[] {
    return this.#versions;
  }

  /** Active versions whose key this process does not have. */
  get missing(): readonly number[] {
    return this.#versions.filter((version) => !this.#keys.has(version));
  }

  key(version: number): EncryptionKey {
    const key = this.#keys.get(version);
    if (key === undefined) throw new StoreUnavailable(this.#describeMissing());
    return key;
  }

  /** The version of an active key; undefined if the key is not active. */
  versionOf(key: KeyObject): number | undefined {
    return this.#versions.find((version) => this.#keys.get(version)?.key.equals(key));
  }

  async decrypt(context: CipherContext, sealed: Uint8Array): Promise<Buffer> {
    const version = keyVersionOf(sealed) ?? 0;
    // Twice, for the same reason as in `write`.
    for (let attempt = 0; attempt < 2 && !this.#keys.has(version); attempt += 1) await this.refresh();
    const key = this.#keys.get(version);
    if (key !== undefined) return decrypt(key, context, sealed);
    if (this.#versions.includes(version)) throw new DecryptionFailed(this.#describeMissing());
    return decrypt(this.current, context, sealed);
  }

  /**
   * Writes values that `make` encrypts with the given key. If a rotation has retired that key meanwhile, nothing is written
   * and `make` is called again with the new key, so that no value is encrypted with a retired key. On a database with
   * concurrent writers the queries must end with a change of the generation, for which rotations wait.
   */
  async write(make: (master: EncryptionKey) => readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    const { current } = this;
    try {
      return await this.#writeWith(current, make(current));
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      // Twice, since the first refresh may have started before the rotation.
      await this.refresh();
      await this.refresh();
      if (this.#versions.includes(current.version)) throw error;
      return this.#writeWith(this.current, make(this.current));
    }
  }

  /** Reads the proofs, and the keys where one of them is new. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  /** Rejects if this process lacks an active key. */
  async check(): Promise<void> {
    await this.refresh();
    if (this.missing.length > 0) throw new StoreUnavailable(this.#describeMissing());
  }

  /** Activates a key as this version, unless another key has it already. */
  prove(master: EncryptionKey): CompiledQuery {
    const name = proofName(master.version);
    const insert = this.#database.build
      .insertInto('meta')
      .values({ name, value: encrypt(master, proofContext(name), name) });
    return insert.onConflict((conflict) => conflict.doNothing()).compile();
  }

  async #writeWith({ version }: EncryptionKey, queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    const { build } = this.#database;
    const proof = build.selectFrom('meta').select('name').where('name', '=', proofName(version));
    // `value` cannot be null: without the proof the transaction fails.
    const mustBeActive = sql`insert into meta (name, value) select 'retired', null where not exists ${proof}`;
    const results = await this.#database.write([
      ...queries,
      mustBeActive.compile(build),
      build.selectFrom('meta').select('name').where(isProof).compile(),
    ]);
    const proofs = results.pop()?.rows as { name: string }[];
    results.pop();
    // The next write uses the newest key.
    if (proofs.some(({ name }) => versionOfProof(name) > version)) await this.refresh();
    return results;
  }

  async #refresh(): Promise<void> {
    const proofs = await this.#readProofs();
    try {
      this.#learn(proofs);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#reportMissing(error.message);
      return;
    }
    this.#reportMissing(this.missing.length === 0 ? '' : this.#describeMissing());
  }

  #learn(proofs: readonly Proof[]): void {
    this.#versions = proofs.map(({ version }) => version);
    const unknown = proofs.filter(({ version }) => !this.#keys.has(version));
    if (unknown.length === 0) return;
    const keys = this.source.read();
    for (const { version, value } of unknown) {
      const key = keys.find((candidate) => canDecrypt({ version, key: candidate }, value));
      if (key !== undefined) this.#keys.set(version, { version, key });
    }
  }

  async #readProofs(): Promise<Proof[]> {
    const { build, read } = this.#database;
    const rows = await read(build.selectFrom('meta').select(['name', 'value']).where(isProof).compile());
    return rows
      .map(({ name, value }) => ({ version: versionOfProof(name), value }))
      .sort((one, other) => other.version - one.version);
  }

  async #proveFirst(): Promise<void> {
    if (this.source.read().length === 0) this.source.create();
    const [key] = this.source.read();
    if (key === undefined) throw new Problem(this.#describeMissing());
    await this.#database.write([this.prove({ version: 1, key })]);
  }

  /** Reports each message once. */
  #reportMissing(message: string): void {
    if (message !== '' && message !== this.#reportedMissing) this.#onMissing(message);
    this.#reportedMissing = message;
  }

  #describeMissing(): string {
    const { name, file } = this.source;
    if (this.#keys.size > 0) {
      return (
        `${name} lacks an active master key (version ${this.missing.join(', ')}): the master key is being rotated, or was ` +
        `rotated. Add the new key in front of the old one${file === null ? ', and restart' : ''}.`
      );
    }
    if (this.source.read().length > 0) {
      return (
        'The master key is not the one this database was encrypted with. Check TOCSIN_MASTER_KEY (or its _FILE), ' +
        'or the master.key in the data directory.'
      );
    }
    return (
      `The database holds encrypted rows, but there is no master key: ${name} is missing and TOCSIN_MASTER_KEY is not ` +
      'set. Restore the key file from your backup, or set TOCSIN_MASTER_KEY.'
    );
  }
}

/** The row of `meta` with the proof of a version. */
export function proofName(version: number): string {
  return version === 1 ? firstProof : `${firstProof}:${version}`;
}

function versionOfProof(name: string): number {
  return name === firstProof ? 1 : Number(name.slice(firstProof.length + 1));
}

function proofContext(name: string): CipherContext {
  return { table: 'meta', ownerId: '', rowId: name, column: 'value' };
}

function canDecrypt(key: EncryptionKey, proof: Uint8Array): boolean {
  try {
    decrypt(key, proofContext(proofName(key.version)), proof);
    return true;
  } catch (error) {
    if (error instanceof DecryptionFailed) return false;
    throw error;
  }
}
