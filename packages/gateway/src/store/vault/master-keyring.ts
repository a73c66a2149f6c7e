// The master keys by version. For each version in use a proof lies in `meta`: whoever opens it has that key. There is one
// version, and two while a rotation is under way; a running process learns of a new one when it meets it.
import type { KeyObject } from 'node:crypto';
import { type CompiledQuery, sql } from 'kysely';
import { Problem } from '../../core/problem.ts';
import { DecryptionFailed, StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Database, EncryptionKey, QueryResult } from '../schema/database.ts';
import { type CipherContext, decrypt, encrypt, keyVersionOf } from './cipher.ts';
import type { MasterKeySource } from './master-key.ts';

const firstProof = 'master_key_proof';
/** Of a row in `meta`. */
export const isProof = sql<boolean>`(name = ${sql.lit(firstProof)} or name like ${sql.lit(`${firstProof}:%`)})`;

/** What happens between reading the proofs and reading the keys is over with the next look. */
const looks = 3;

interface Proof {
  version: number;
  value: Uint8Array;
}

export class MasterKeyring {
  readonly source: MasterKeySource;
  readonly #database: Database;
  readonly #onMissing: (message: string) => void;
  /** Kept after their rotation: a row that was read just before it still has to open. */
  readonly #keys = new Map<number, EncryptionKey>();
  /** Those with a proof, newest first. */
  #versions: readonly number[] = [];
  #refreshing: Promise<void> | null = null;
  #reportedMissing = '';

  private constructor(database: Database, source: MasterKeySource, onMissing: (message: string) => void) {
    this.#database = database;
    this.source = source;
    this.#onMissing = onMissing;
  }

  /** Gives up unless every master key in use is there. `onMissing` hears of one that comes into use later and is not. */
  static async open(
    database: Database,
    source: MasterKeySource,
    onMissing: (message: string) => void,
  ): Promise<MasterKeyring> {
    const keyring = new MasterKeyring(database, source, onMissing);
    for (let look = 1; ; look += 1) {
      const proofs = await keyring.#readProofs();
      if (proofs.length === 0) {
        await keyring.#proveFirst();
        continue;
      }
      keyring.#learn(proofs);
      if (keyring.missing.length === 0) return keyring;
      if (look === looks) throw new Problem(keyring.#describeMissing());
    }
  }

  /** The newest one that this process has, for sealing. */
  get current(): EncryptionKey {
    const version = this.#versions.find((each) => this.#keys.has(each));
    if (version === undefined) throw new StoreUnavailable(this.#describeMissing());
    return this.key(version);
  }

  /** Those in use, newest first. */
  get versions(): readonly number[] {
    return this.#versions;
  }

  /** Those in use that this process does not have. */
  get missing(): readonly number[] {
    return this.#versions.filter((version) => !this.#keys.has(version));
  }

  key(version: number): EncryptionKey {
    const key = this.#keys.get(version);
    if (key === undefined) throw new StoreUnavailable(this.#describeMissing());
    return key;
  }

  /** The version as which a key is in use; undefined when it is not. */
  versionOf(key: KeyObject): number | undefined {
    return this.#versions.find((version) => this.#keys.get(version)?.key.equals(key));
  }

  async decrypt(context: CipherContext, sealed: Uint8Array): Promise<Buffer> {
    const version = keyVersionOf(sealed) ?? 0;
    // Twice, for the same reason as in `write`.
    for (let look = 0; look < 2 && !this.#keys.has(version); look += 1) await this.refresh();
    const key = this.#keys.get(version);
    if (key !== undefined) return decrypt(key, context, sealed);
    if (this.#versions.includes(version)) throw new DecryptionFailed(this.#describeMissing());
    return decrypt(this.current, context, sealed);
  }

  /**
   * Writes what `make` seals with the key it is given. Where a rotation has retired that key meanwhile nothing is written,
   * and it is done again with the new one: no value is left behind that nothing opens. On a database with concurrent
   * writers this holds if the queries end with a change of the generation, on which rotations wait.
   */
  async write(make: (master: EncryptionKey) => readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    const { current } = this;
    try {
      return await this.#writeWith(current, make(current));
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      // Twice: the first look may be one that was under way already.
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

  /** Rejects when this process lacks a key that is in use. */
  async check(): Promise<void> {
    await this.refresh();
    if (this.missing.length > 0) throw new StoreUnavailable(this.#describeMissing());
  }

  /** Brings a key into use as this version, unless another key is there already. */
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
    // `value` cannot be null: without the proof this fails, and the transaction with it.
    const mustBeInUse = sql`insert into meta (name, value) select 'retired', null where not exists ${proof}`;
    const results = await this.#database.write([
      ...queries,
      mustBeInUse.compile(build),
      build.selectFrom('meta').select('name').where(isProof).compile(),
    ]);
    const proofs = results.pop()?.rows as { name: string }[];
    results.pop();
    // The next one is then sealed with the newest.
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
      const key = keys.find((candidate) => opens({ version, key: candidate }, value));
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

  /** Once for each thing there is to tell. */
  #reportMissing(message: string): void {
    if (message !== '' && message !== this.#reportedMissing) this.#onMissing(message);
    this.#reportedMissing = message;
  }

  #describeMissing(): string {
    const { name, file } = this.source;
    if (this.#keys.size > 0) {
      return (
        `A master key is in use that ${name} does not hold (version ${this.missing.join(', ')}): it is being rotated, or ` +
        `was. Give the new key and the old one, newest first${file === null ? ', and restart' : ''}.`
      );
    }
    if (this.source.read().length > 0) {
      return (
        'The master key is not the one this database was sealed with. Check TOCSIN_MASTER_KEY (or its _FILE), ' +
        'or the master.key in the data directory.'
      );
    }
    return (
      `The database holds sealed rows, but there is no master key: ${name} is missing and TOCSIN_MASTER_KEY is not set. ` +
      'Put the key file back from your backup, or set TOCSIN_MASTER_KEY.'
    );
  }
}

/** Each sealed with the key it proves. */
export function proofName(version: number): string {
  return version === 1 ? firstProof : `${firstProof}:${version}`;
}

function versionOfProof(name: string): number {
  return name === firstProof ? 1 : Number(name.slice(firstProof.length + 1));
}

function proofContext(name: string): CipherContext {
  return { table: 'meta', ownerId: '', rowId: name, column: 'value' };
}

function opens(key: EncryptionKey, proof: Uint8Array): boolean {
  try {
    decrypt(key, proofContext(proofName(key.version)), proof);
    return true;
  } catch (error) {
    if (error instanceof DecryptionFailed) return false;
    throw error;
  }
}
