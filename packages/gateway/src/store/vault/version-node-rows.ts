// Reads and writes the nodes of the version tree, each encrypted with the master key.
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { DecryptionFailed } from '../../usecases/ports/index.ts';
import type { Database, EncryptionKey } from '../schema/database.ts';
import { type CipherContext, encrypt } from './cipher.ts';
import type { MasterKeyring } from './master-keyring.ts';
import { headId, type VersionNode } from './version-tree.ts';

/** Nodes per statement. */
const batchSize = 500;
const maxCached = 10_000;

/** `node` is null if the row cannot be decrypted. */
export interface StoredNode {
  sealed: Uint8Array;
  node: VersionNode | null;
}

export class VersionNodeRows {
  readonly #database: Database;
  readonly #master: MasterKeyring;
  /** Decrypted nodes by id: most reads find an unchanged node. */
  readonly #decrypted = new Map<string, { sealed: Uint8Array; node: VersionNode }>();

  constructor(database: Database, master: MasterKeyring) {
    this.#database = database;
    this.#master = master;
  }

  /** null reads all nodes. */
  async read(ids: readonly string[] | null): Promise<Map<string, StoredNode>> {
    const { build, read } = this.#database;
    const query = build.selectFrom('row_versions').selectAll();
    const rows = await read((ids === null ? query : query.where('id', 'in', ids)).compile());
    const nodes = new Map<string, StoredNode>();
    for (const { id, sealed } of rows) nodes.set(id, { sealed, node: await this.decrypt(id, sealed) });
    return nodes;
  }

  async readHead(): Promise<StoredNode | undefined> {
    return (await this.read([headId])).get(headId);
  }

  async isEmpty(): Promise<boolean> {
    const { build, read } = this.#database;
    return (await read(build.selectFrom('row_versions').select('id').limit(1).compile())).length === 0;
  }

  /** null if there is no node, or it cannot be decrypted. */
  async decrypt(id: string, sealed: Uint8Array | null): Promise<VersionNode | null> {
    if (sealed === null) return null;
    const known = this.#decrypted.get(id);
    if (known !== undefined && Buffer.compare(known.sealed, sealed) === 0) return known.node;
    try {
      const node = JSON.parse((await this.#master.decrypt(nodeContext(id), sealed)).toString('utf8')) as VersionNode;
      if (this.#decrypted.size >= maxCached) this.#decrypted.clear();
      this.#decrypted.set(id, { sealed, node });
      return node;
    } catch (error) {
      if (error instanceof DecryptionFailed) return null;
      throw error;
    }
  }

  /**
   * Writes the nodes, with a head among them, if the stored head is still `headBefore`; null: if there is none. Otherwise
   * the transaction fails with ConstraintViolated.
   */
  put(master: EncryptionKey, nodes: ReadonlyMap<string, VersionNode>, headBefore: Uint8Array | null): CompiledQuery[] {
    // In the order of the ids, as in a rotation of the master key, to avoid deadlocks.
    const ids = [...nodes.keys()].sort();
    const encrypted = (id: string): Buffer =>
      encrypt(master, nodeContext(id), JSON.stringify(nodes.get(id) as VersionNode));
    const head = encrypted(headId);
    const putAll = (some: readonly string[]): CompiledQuery[] =>
      batches(some).map((batch) => this.#upsert(batch.map((id) => ({ id, sealed: encrypted(id) }))));
    return [
      ...putAll(ids.filter((id) => id < headId)),
      this.#putHead(head, headBefore),
      ...putAll(ids.filter((id) => id > headId)),
      this.assert(isHead(head)),
    ];
  }

  remove(id: string): CompiledQuery {
    return this.#database.build.deleteFrom('row_versions').where('id', '=', id).compile();
  }

  /** Removes all nodes, if the stored head is still `head`; otherwise the transaction fails with ConstraintViolated. */
  removeAll(head: Uint8Array | undefined): CompiledQuery[] {
    const unchanged =
      head === undefined
        ? [this.assert(sql`not exists (select 1 from row_versions where id = ${headId})`)]
        : // The update locks the row against other nodes of the service.
          [this.#putHead(head, head), this.assert(isHead(head))];
    return [...unchanged, this.#database.build.deleteFrom('row_versions').compile()];
  }

  /** Fails the transaction with ConstraintViolated unless the condition holds: `value` cannot be null. */
  assert(condition: RawBuilder<unknown>): CompiledQuery {
    return sql`insert into meta (name, value) select 'conflict', null where not ${condition}`.compile(
      this.#database.build,
    );
  }

  #upsert(nodes: readonly { id: string; sealed: Uint8Array }[]): CompiledQuery {
    return this.#database.build
      .insertInto('row_versions')
      .values(nodes)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(({ ref }) => ({ sealed: ref('excluded.sealed') })))
      .compile();
  }

  #putHead(sealed: Uint8Array, before: Uint8Array | null): CompiledQuery {
    const { build } = this.#database;
    return before === null
      ? build.insertInto('row_versions').values({ id: headId, sealed }).compile()
      : build
          .updateTable('row_versions')
          .set({ sealed })
          .where('id', '=', headId)
          .where('sealed', '=', before)
          .compile();
  }
}

export function nodeContext(id: string): CipherContext {
  return { table: 'row_versions', ownerId: '', rowId: id, column: 'sealed' };
}

function isHead(sealed: Uint8Array): RawBuilder<unknown> {
  return sql`exists (select 1 from row_versions where id = ${headId} and sealed = ${sealed})`;
}

function batches<T>(all: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(all.length / batchSize) }, (_, index) =>
    all.slice(index * batchSize, (index + 1) * batchSize),
  );
}
