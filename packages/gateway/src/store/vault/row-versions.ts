// Detects rows that were rolled back to an earlier state. Encryption alone does not: an older value of the same row decrypts.
//
// Every row that decides about access carries a version in its encrypted value. The valid versions are kept in a tree of
// encrypted nodes (`version-tree.ts`): one per owner with the versions of the owner's rows, one per bucket of owners, and
// one head. Each write changes the nodes above its row, and with them the head, in the same transaction. A row is valid only
// if the nodes above it match, so an older row, an older node, or any mix of them is refused unless the whole tree is rolled
// back with it. Against that a process remembers the newest node of each owner it has seen. SECURITY.md lists the limits.
import { setTimeout as delay } from 'node:timers/promises';
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import { ConstraintViolated, type Database, type EncryptionKey, type QueryResult } from '../schema/database.ts';
import { bumpGeneration } from '../schema/generation.ts';
import type { MasterKeyring } from './master-keyring.ts';
import { SeenVersions } from './seen-versions.ts';
import { SerialWrites } from './serial-writes.ts';
import { VersionNodeRows } from './version-node-rows.ts';
import {
  type AdoptionState,
  bucketOf,
  bucketPrefix,
  childIds,
  childName,
  emptyNode,
  headId,
  isValidPath,
  keyOf,
  type NodePath,
  type NodesAbove,
  nextVersion,
  nodesAfter,
  rowName,
  type TreeChange,
  type Versioned,
  type VersionedTable,
  type VersionNode,
  withChanges,
} from './version-tree.ts';

export interface RowChange {
  /** New versions by `childName`; null: the row is deleted. */
  children: Record<string, number | null>;
  rows(master: EncryptionKey): RowQueries;
}

export interface RowQueries {
  queries: readonly CompiledQuery[];
  /** A row that must exist after the queries; otherwise nothing is written, and the write rejects with ConstraintViolated. */
  written?: { table: VersionedTable; ownerId: string; sealed: Uint8Array };
}

/** Rows of the owner were rolled back: nothing is written for the owner until the operator has resolved it. */
export class RowsRolledBack extends StoreUnavailable {}

interface Commit extends TreeChange {
  rows: RowChange['rows'];
}

type ReadPath = (ownerIds: readonly string[], isChecked?: boolean) => Promise<NodePath>;

const maxReported = 10_000;
/** Attempts of a write if other processes write concurrently. */
const maxAttempts = 200;

export const rolledBack = 'it is not the current state: it was rolled back, or added or removed outside Tocsin';

export const headRolledBack =
  'row_versions head: it is older than other rows and versions, so it was rolled back; rows written since are refused';

export class RowVersions {
  readonly #database: Database;
  readonly #master: MasterKeyring;
  readonly #nodes: VersionNodeRows;
  readonly #onRefused: (message: string) => void;
  readonly #reported = new Set<string>();
  readonly #seen = new SeenVersions();
  readonly #writes = new SerialWrites();

  constructor(database: Database, master: MasterKeyring, onRefused: (message: string) => void) {
    this.#database = database;
    this.#master = master;
    this.#nodes = new VersionNodeRows(database, master);
    this.#onRefused = onRefused;
  }

  /** Reads one row; null also if it is not the valid one. `read` must also select the columns of `nodesAbove`. */
  async find<Row extends NodesAbove, T>(
    table: VersionedTable,
    read: () => Promise<Row | undefined>,
    decrypt: (row: Row) => Promise<Versioned<T> | null>,
  ): Promise<T | null> {
    const [found] = await this.list(table, async () => [await read()].filter((row) => row !== undefined), decrypt);
    return found ?? null;
  }

  /** Reads rows and leaves out those that are not valid, after calling `onRefused` with the id of each. */
  async list<Row extends NodesAbove, T>(
    table: VersionedTable,
    read: () => Promise<Row[]>,
    decrypt: (row: Row) => Promise<Versioned<T> | null>,
    onRefused: (id: string) => void = () => undefined,
  ): Promise<T[]> {
    const { headVersion, observations } = this.#seen;
    const rows = await read();
    await this.#checkHead(rows[0]?.head_versions ?? null, headVersion);
    const values: T[] = [];
    for (const row of rows) {
      const decrypted = await decrypt(row);
      if (decrypted === null) continue;
      const problem = await this.#problemOf(table, row, decrypted.rowVersion, observations);
      if (problem === null) values.push(decrypted.value);
      else {
        this.report(`${rowName(table, row)}: ${problem}`);
        onRefused(keyOf(table, row).id);
      }
    }
    return values;
  }

  /** Reports each message once. */
  report(message: string): void {
    if (this.#reported.has(message)) return;
    if (this.#reported.size >= maxReported) this.#reported.clear();
    this.#reported.add(message);
    this.#onRefused(message);
  }

  /**
   * Writes rows of one owner together with their versions. `make` gets the version to encrypt into them, and is called again
   * if another write came first; null: nothing is written.
   */
  write(
    ownerId: string,
    make: (version: number, children: Readonly<Record<string, number>>, head: VersionNode) => Promise<RowChange | null>,
  ): Promise<QueryResult<unknown>[] | null> {
    return this.#retrying(async (path) => {
      const { head, buckets, owners } = await path([ownerId]);
      const version = nextVersion(head.node);
      const node = owners.get(ownerId) ?? emptyNode;
      const change = await make(version, node.children, head.node);
      if (change === null) return null;
      const children = withChanges(node.children, change.children);
      // An owner without rows was deleted meanwhile, and gets no node again.
      const isDeleted = Object.keys(children).length === 0;
      const next = new Map(isDeleted ? [] : [[ownerId, { version, children }]]);
      return { head, buckets, owners: next, removed: isDeleted ? [ownerId] : [], version, rows: change.rows };
    });
  }

  /** Records that no row is left to adopt. */
  async endAdoption(): Promise<void> {
    await this.#retrying(async (path) => {
      const { head, buckets } = await path([]);
      if (!head.node.isTakeOverUnfinished) return null;
      const ended = { ...head, node: { ...head.node, isTakeOverUnfinished: false } };
      const version = nextVersion(head.node);
      return { head: ended, buckets, owners: new Map(), removed: [], version, rows: () => ({ queries: [] }) };
    });
  }

  /** Removes an owner and the versions of all rows of the owner. */
  async removeOwner(ownerId: string, queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    const results = await this.#retrying(async (path) => {
      // Without the check of the owner's node: it is removed, even if it was rolled back.
      const { head, buckets } = await path([ownerId], false);
      const version = nextVersion(head.node);
      return { head, buckets, owners: new Map(), removed: [ownerId], version, rows: () => ({ queries }) };
    });
    return results as QueryResult<unknown>[];
  }

  /**
   * Makes the given versions of these owners' rows the valid ones, regardless of the stored ones, and returns the new head.
   * Rejects with ConstraintViolated if the head has changed since `head` was read; null: there is none yet.
   */
  async replace(
    head: VersionNode | null,
    owners: ReadonlyMap<string, Record<string, number>>,
    makeQueries: (version: number) => Promise<readonly CompiledQuery[]>,
    state: AdoptionState = {},
  ): Promise<VersionNode> {
    const nodes = await this.#nodes.read([headId, ...new Set([...owners.keys()].map(bucketOf))]);
    const found = nodes.get(headId);
    if (found?.node?.version !== head?.version) throw new ConstraintViolated('another write came first');
    const version = nextVersion(head ?? emptyNode);
    const queries = await makeQueries(version);
    const commit: Commit = {
      head: { node: { ...(head ?? emptyNode), ...state }, sealed: found?.sealed ?? null },
      buckets: new Map([...owners.keys()].map((id) => [bucketOf(id), nodes.get(bucketOf(id))?.node ?? emptyNode])),
      owners: new Map([...owners].map(([id, children]) => [id, { version, children }])),
      removed: [],
      version,
      rows: () => ({ queries }),
    };
    await this.#commit(commit);
    return nodesAfter(commit).get(headId) as VersionNode;
  }

  /**
   * Replaces all nodes by the given versions in one transaction, so that running servers see either the old or the new
   * tree. Rejects with ConstraintViolated if another write comes first.
   */
  async replaceAll(
    make: (version: number) => Promise<{
      owners: ReadonlyMap<string, Record<string, number>>;
      queries: readonly CompiledQuery[];
    }>,
  ): Promise<void> {
    const found = await this.#nodes.readHead();
    const version = nextVersion(found?.node ?? emptyNode);
    const { owners, queries } = await make(version);
    await this.#commit({
      head: { node: emptyNode, sealed: null },
      buckets: new Map([...owners.keys()].map((id) => [bucketOf(id), emptyNode])),
      owners: new Map([...owners].map(([id, children]) => [id, { version, children }])),
      removed: [],
      version,
      rows: () => ({ queries: [...this.#nodes.removeAll(found?.sealed), ...queries] }),
    });
  }

  /** `none`: there are no nodes yet. `damaged`: there are nodes, but no head that can be decrypted. */
  async readHead(): Promise<VersionNode | 'none' | 'damaged'> {
    const head = await this.#nodes.readHead();
    if (head !== undefined) return head.node ?? 'damaged';
    return (await this.#nodes.isEmpty()) ? 'none' : 'damaged';
  }

  /** All valid nodes of owners, and the problems of the others. */
  async readOwners(): Promise<{ owners: Map<string, VersionNode>; problems: string[] }> {
    const nodes = await this.#nodes.read(null);
    const owners = new Map<string, VersionNode>();
    const problems: string[] = [];
    for (const [id, { node }] of nodes) {
      if (id === headId || id.startsWith(bucketPrefix)) continue;
      if (isValidPath(id, nodes)) owners.set(id, node as VersionNode);
      else problems.push(`row_versions ${id}: ${rolledBack}`);
    }
    const listed = [...nodes].filter(([id]) => id.startsWith(bucketPrefix)).flatMap(([, { node }]) => childIds(node));
    for (const id of listed) if (!nodes.has(id)) problems.push(`row_versions ${id}: missing`);
    const head = nodes.get(headId)?.node;
    const isHeadOlder = !!head && nodes.values().some(({ node }) => (node?.version ?? 0) > head.version);
    if (isHeadOlder) problems.push(headRolledBack);
    for (const id of childIds(head)) if (!nodes.has(id)) problems.push(`row_versions ${id}: missing`);
    return { owners, problems };
  }

  /** null if the row is valid. */
  async #problemOf(
    table: VersionedTable,
    row: NodesAbove,
    rowVersion: number,
    observationsBefore: number,
  ): Promise<string | null> {
    const { ownerId, id } = keyOf(table, row);
    const head = await this.#nodes.decrypt(headId, row.head_versions);
    if (head === null) return 'the row versions are missing from the database, or were altered';
    if (rowVersion === 0 && (head.trustUnversionedUntil ?? 0) > Date.now()) return null;
    const bucketId = bucketOf(ownerId);
    const nodes = new Map([
      [headId, { node: head }],
      [bucketId, { node: await this.#nodes.decrypt(bucketId, row.bucket_versions) }],
      [ownerId, { node: await this.#nodes.decrypt(ownerId, row.owner_versions) }],
    ]);
    if (!isValidPath(ownerId, nodes)) return rolledBack;
    const node = this.#seen.newest(ownerId, nodes.get(ownerId)?.node as VersionNode, observationsBefore);
    return node.children[childName(table, id)] === rowVersion ? null : rolledBack;
  }

  /** Reports a head that is older than one that was seen before it was read. */
  async #checkHead(sealed: Uint8Array | null, versionBefore: number): Promise<void> {
    const head = await this.#nodes.decrypt(headId, sealed);
    if (head === null) return;
    this.#seen.noteHead(head);
    if (head.version >= versionBefore) return;
    this.report(
      'the database went back to an earlier state as a whole while this server was running: it was restored, failed over ' +
        'to a lagging standby, or was tampered with',
    );
  }

  /** One write at a time within this process; a write of another process is detected by the head, and then retried. */
  #retrying(prepare: (path: ReadPath) => Promise<Commit | null>): Promise<QueryResult<unknown>[] | null> {
    return this.#writes.run(async () => {
      for (let attempts = 1; ; attempts += 1) {
        let before: Uint8Array | null = null;
        const commit = await prepare(async (ownerIds, isChecked = true) => {
          const path = await this.#readPath(ownerIds, isChecked);
          before = path.head.sealed;
          return path;
        });
        if (commit === null) return null;
        try {
          return await this.#commit(commit);
        } catch (error) {
          if (!(error instanceof ConstraintViolated) || attempts === maxAttempts) throw error;
          const now = (await this.#nodes.readHead())?.sealed;
          if (now === undefined || (before !== null && Buffer.compare(now, before) === 0)) throw error;
          if (attempts > 2) await delay(Math.random() * 20);
        }
      }
    });
  }

  /** The nodes of owners, their buckets, and the head. Without `isChecked` the nodes of the owners may be rolled back. */
  async #readPath(ownerIds: readonly string[], isChecked: boolean): Promise<NodePath> {
    const { observations } = this.#seen;
    const nodes = await this.#nodes.read([headId, ...new Set(ownerIds.map(bucketOf)), ...ownerIds]);
    const head = nodes.get(headId);
    if (head === undefined || head.node === null) {
      throw new RowsRolledBack("the row versions are missing or were altered; run 'tocsin doctor'");
    }
    const [buckets, owners] = [new Map<string, VersionNode>(), new Map<string, VersionNode>()];
    for (const ownerId of ownerIds) {
      const bucketId = bucketOf(ownerId);
      const bucket = nodes.get(bucketId)?.node ?? emptyNode;
      const owner = nodes.get(ownerId)?.node ?? emptyNode;
      // A write on top of rolled back nodes would make them valid.
      const isBucketValid = bucket.version === (head.node.children[bucketId] ?? 0);
      const isOwnerValid = owner.version === (bucket.children[ownerId] ?? 0);
      if (!isBucketValid || (isChecked && !isOwnerValid)) {
        this.report(`row_versions ${ownerId}: ${rolledBack}`);
        throw new RowsRolledBack(`rows of ${ownerId} were rolled back to an earlier state; run 'tocsin doctor'`);
      }
      buckets.set(bucketId, bucket);
      if (bucket.children[ownerId] === undefined) {
        // The owner was deleted, perhaps by another process: a remembered node must not be written again.
        this.#seen.newest(ownerId, { version: head.node.version, children: {} }, observations);
        owners.set(ownerId, emptyNode);
      } else owners.set(ownerId, this.#seen.newest(ownerId, owner, observations));
    }
    return { head: { node: head.node, sealed: head.sealed }, buckets, owners };
  }

  async #commit(commit: Commit): Promise<QueryResult<unknown>[]> {
    let count = 0;
    const results = await this.#master.write((master) => {
      const { queries, written } = commit.rows(master);
      count = queries.length;
      return [
        ...queries,
        ...this.#nodes.put(master, nodesAfter(commit), commit.head.sealed),
        ...commit.removed.map((id) => this.#nodes.remove(id)),
        ...(written === undefined ? [] : [this.#nodes.assert(isWritten(written))]),
        bumpGeneration(this.#database),
      ];
    });
    for (const [ownerId, node] of commit.owners) this.#seen.note(ownerId, node);
    for (const ownerId of commit.removed) this.#seen.note(ownerId, { version: commit.version, children: {} });
    return results.slice(0, count);
  }
}

function isWritten({ table, ownerId, sealed }: NonNullable<RowQueries['written']>): RawBuilder<unknown> {
  const owner = sql.ref(table === 'owners' ? 'id' : 'owner_id');
  return sql`exists (select 1 from ${sql.table(table)} where ${owner} = ${ownerId} and sealed = ${sealed})`;
}
