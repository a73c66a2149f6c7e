// Detects rows that were put back to an earlier state. Encryption alone does not: an older value of the same row decrypts.
//
// Every row that decides who may do what carries a version in its encrypted value. The versions in force are kept in a
// tree of encrypted nodes: one per owner with the versions of the owner's rows, one per bucket of owners, and one head.
// Each write moves the nodes above its row, and with them the head, in the same transaction. A row counts only if the
// nodes above it agree, so an older row, node, or any mix of them does not count unless the whole tree goes back with it.
// Against that a process keeps the newest node of each owner that it has seen. SECURITY.md says what is left.
import { setTimeout as delay } from 'node:timers/promises';
import { type AliasedRawBuilder, type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { DecryptionFailed, StoreUnavailable } from '../../usecases/ports/index.ts';
import type { EncryptionKey } from '../schema/database.ts';
import { ConstraintViolated, type Database, type QueryResult } from '../schema/database.ts';
import { bumpGeneration } from '../schema/generation.ts';
import { type CipherContext, encrypt } from './cipher.ts';
import type { MasterKeyring } from './master-keyring.ts';

export const versionedTables = [
  'owners',
  'api_keys',
  'sessions',
  'one_time_links',
  'passkeys',
  'oidc_identities',
] as const;
export type VersionedTable = (typeof versionedTables)[number];

export interface VersionNode {
  /** Grows with every write; not less than the time of the write, so that it also grows after a restore. */
  version: number;
  /** The versions in force below this node. */
  children: Record<string, number>;
  /** Of the head: until then rows without a version count, since servers of the version before may write them. */
  trustUnversionedUntil?: number;
  /** Of the head: the take-over of rows without a version was interrupted, and is continued at the next opportunity. */
  isTakeOverUnfinished?: boolean;
}

/** What a take-over changes in the head beside its version. */
export type AdoptionState = Pick<VersionNode, 'trustUnversionedUntil' | 'isTakeOverUnfinished'>;

/** The nodes above a row, read in the same statement as the row. */
export interface NodesAbove {
  owner_versions: Uint8Array | null;
  bucket_versions: Uint8Array | null;
  head_versions: Uint8Array | null;
}

/** What a row decrypts to, apart from its version; rows of the version before have 0. */
export interface Versioned<T> {
  value: T;
  rowVersion: number;
}

export interface RowChange {
  /** By `childName`; null: the row is removed. */
  children: Record<string, number | null>;
  rows(master: EncryptionKey): RowQueries;
}

export interface RowQueries {
  queries: readonly CompiledQuery[];
  /** Has to be there after the queries; otherwise nothing is written, and the write rejects with ConstraintViolated. */
  written?: { table: VersionedTable; ownerId: string; sealed: Uint8Array };
}

/** Nothing is written for an owner while the versions of the owner's rows are not those in force. */
export class RowsRolledBack extends StoreUnavailable {}

const headId = 'head';
const bucketPrefix = 'bucket:';
const maxRemembered = 10_000;
/** After this long without the end of any write of this process the database hangs; however long a burst takes, it does not. */
const stallMs = 5000;
/** Attempts of a write that other processes get ahead of. */
const maxAttempts = 200;

export class RowVersions {
  readonly #database: Database;
  readonly #master: MasterKeyring;
  readonly #onRefused: (message: string) => void;
  readonly #reported = new Set<string>();
  /** Decrypted nodes by id: most reads find the node that the read before has found. */
  readonly #decrypted = new Map<string, { sealed: Uint8Array; node: VersionNode }>();
  /** The newest node of each owner that this process has seen, and at which look. */
  readonly #newest = new Map<string, { node: VersionNode; look: number }>();
  #looks = 0;
  #headVersion = 0;
  #progressAt = performance.now();
  #writing: Promise<unknown> = Promise.resolve();

  constructor(database: Database, master: MasterKeyring, onRefused: (message: string) => void) {
    this.#database = database;
    this.#master = master;
    this.#onRefused = onRefused;
  }

  /** Reads one row; null also where it is not the one in force. `read` selects the columns of `nodesAbove` too. */
  async find<Row extends NodesAbove, T>(
    table: VersionedTable,
    read: () => Promise<Row | undefined>,
    open: (row: Row) => Promise<Versioned<T> | null>,
  ): Promise<T | null> {
    const [found] = await this.list(table, async () => [await read()].filter((row) => row !== undefined), open);
    return found ?? null;
  }

  /** Reads rows and leaves out those that are not in force, after `onRefused` heard of each by its id. */
  async list<Row extends NodesAbove, T>(
    table: VersionedTable,
    read: () => Promise<Row[]>,
    open: (row: Row) => Promise<Versioned<T> | null>,
    onRefused: (id: string) => void = () => undefined,
  ): Promise<T[]> {
    const [headBefore, lookBefore] = [this.#headVersion, this.#looks];
    const rows = await read();
    await this.#noteHead(rows[0]?.head_versions ?? null, headBefore);
    const values: T[] = [];
    for (const row of rows) {
      const opened = await open(row);
      if (opened === null) continue;
      const problem = await this.#problemOf(table, row, opened.rowVersion, lookBefore);
      if (problem === null) values.push(opened.value);
      else {
        this.report(`${rowName(table, row)}: ${problem}`);
        onRefused(keyOf(table, row).id);
      }
    }
    return values;
  }

  /** Once for each message. */
  report(message: string): void {
    if (this.#reported.has(message)) return;
    if (this.#reported.size >= maxRemembered) this.#reported.clear();
    this.#reported.add(message);
    this.#onRefused(message);
  }

  /**
   * Writes rows of one owner together with their versions. `make` is given the version to encrypt into them, and is asked
   * again where another write came first; null: nothing is to be written.
   */
  write(
    ownerId: string,
    make: (version: number, children: Readonly<Record<string, number>>, head: VersionNode) => Promise<RowChange | null>,
  ): Promise<QueryResult<unknown>[] | null> {
    return this.#inTurn(async (path) => {
      const { head, buckets, owners } = await path([ownerId]);
      const version = nextVersion(head.node);
      const node = owners.get(ownerId) ?? emptyNode;
      const change = await make(version, node.children, head.node);
      if (change === null) return null;
      const children = withChanges(node.children, change.children);
      // An owner without rows was deleted meanwhile, and gets no node again.
      const isGone = Object.keys(children).length === 0;
      const next = new Map(isGone ? [] : [[ownerId, { version, children }]]);
      return { head, buckets, owners: next, removed: isGone ? [ownerId] : [], version, rows: change.rows };
    });
  }

  /** Records that no row is left to take over. */
  async endAdoption(): Promise<void> {
    await this.#inTurn(async (path) => {
      const { head, buckets } = await path([]);
      if (!head.node.isTakeOverUnfinished) return null;
      const ended = { ...head, node: { ...head.node, isTakeOverUnfinished: false } };
      const version = nextVersion(head.node);
      return { head: ended, buckets, owners: new Map(), removed: [], version, rows: () => ({ queries: [] }) };
    });
  }

  /** Removes an owner and the versions of all rows of the owner. */
  async removeOwner(ownerId: string, queries: readonly CompiledQuery[]): Promise<QueryResult<unknown>[]> {
    const results = await this.#inTurn(async (path) => {
      // Also where the node of the owner is not the one in force: it is removed.
      const { head, buckets } = await path([ownerId], false);
      return {
        head,
        buckets,
        owners: new Map(),
        removed: [ownerId],
        version: nextVersion(head.node),
        rows: () => ({ queries }),
      };
    });
    return results as QueryResult<unknown>[];
  }

  /**
   * Makes the given versions of these owners' rows those in force, whatever was in force before, and says which head that
   * makes. Rejects with ConstraintViolated where the head has moved since `head` was read; null: there is none yet.
   */
  async replace(
    head: VersionNode | null,
    owners: ReadonlyMap<string, Record<string, number>>,
    makeQueries: (version: number) => Promise<readonly CompiledQuery[]>,
    state: AdoptionState = {},
  ): Promise<VersionNode> {
    const nodes = await this.#readNodes([headId, ...new Set([...owners.keys()].map(bucketOf))]);
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
    return this.#nodesAfter(commit).get(headId) as VersionNode;
  }

  /**
   * Makes the given versions those in force in place of all nodes, in one transaction: servers that run find the earlier
   * ones or these. Rejects with ConstraintViolated where another write comes first.
   */
  async replaceAll(
    make: (version: number) => Promise<{
      owners: ReadonlyMap<string, Record<string, number>>;
      queries: readonly CompiledQuery[];
    }>,
  ): Promise<void> {
    const { build } = this.#database;
    const found = (await this.#readNodes([headId])).get(headId);
    const version = nextVersion(found?.node ?? emptyNode);
    const { owners, queries } = await make(version);
    const isHead = sql`select 1 from row_versions where id = ${headId}`;
    const unchanged =
      found === undefined
        ? [this.#mustHold(sql`not exists (${isHead})`)]
        : // The update locks the row against other nodes.
          [
            this.#putHead(found.sealed, found.sealed),
            this.#mustHold(sql`exists (${isHead} and sealed = ${found.sealed})`),
          ];
    const removal = build.deleteFrom('row_versions').compile();
    await this.#commit({
      head: { node: emptyNode, sealed: null },
      buckets: new Map([...owners.keys()].map((id) => [bucketOf(id), emptyNode])),
      owners: new Map([...owners].map(([id, children]) => [id, { version, children }])),
      removed: [],
      version,
      rows: () => ({ queries: [...unchanged, removal, ...queries] }),
    });
  }

  /** `none`: nothing was ever written here. `damaged`: nodes are there, but no head that decrypts. */
  async readHead(): Promise<VersionNode | 'none' | 'damaged'> {
    const head = (await this.#readNodes([headId])).get(headId);
    if (head !== undefined) return head.node ?? 'damaged';
    const { build, read } = this.#database;
    return (await read(build.selectFrom('row_versions').select('id').limit(1).compile())).length === 0
      ? 'none'
      : 'damaged';
  }

  /** Every node of an owner, with what is wrong with it. */
  async readOwners(): Promise<{ owners: Map<string, VersionNode>; problems: string[] }> {
    const nodes = await this.#readNodes(null);
    const owners = new Map<string, VersionNode>();
    const problems: string[] = [];
    for (const [id, { node }] of nodes) {
      if (id === headId || id.startsWith(bucketPrefix)) continue;
      if (this.#isInForce(id, nodes)) owners.set(id, node as VersionNode);
      else problems.push(`row_versions ${id}: ${rolledBack}`);
    }
    const listed = [...nodes].filter(([id]) => id.startsWith(bucketPrefix)).flatMap(([, { node }]) => keys(node));
    for (const id of listed) if (!nodes.has(id)) problems.push(`row_versions ${id}: missing`);
    const head = nodes.get(headId)?.node;
    const isHeadOlder = !!head && nodes.values().some(({ node }) => (node?.version ?? 0) > head.version);
    if (isHeadOlder) problems.push(headRolledBack);
    for (const id of keys(head)) if (!nodes.has(id)) problems.push(`row_versions ${id}: missing`);
    return { owners, problems };
  }

  async #problemOf(
    table: VersionedTable,
    row: NodesAbove,
    rowVersion: number,
    lookBefore: number,
  ): Promise<string | null> {
    const { ownerId, id } = keyOf(table, row);
    const head = await this.#open(headId, row.head_versions);
    if (head === null) return 'the versions of rows are missing from the database, or were altered';
    if (rowVersion === 0 && (head.trustUnversionedUntil ?? 0) > Date.now()) return null;
    const bucketId = bucketOf(ownerId);
    const nodes = new Map([
      [headId, { node: head }],
      [bucketId, { node: await this.#open(bucketId, row.bucket_versions) }],
      [ownerId, { node: await this.#open(ownerId, row.owner_versions) }],
    ]);
    if (!this.#isInForce(ownerId, nodes)) return rolledBack;
    const node = this.#remember(ownerId, nodes.get(ownerId)?.node as VersionNode, lookBefore);
    return node.children[childName(table, id)] === rowVersion ? null : rolledBack;
  }

  /**
   * The newest node that this process had seen before it began to read, at the look `before`; the given one where that is
   * newer, or where a newer one was only seen while it was being read.
   */
  #remember(ownerId: string, node: VersionNode, before: number): VersionNode {
    const known = this.#newest.get(ownerId);
    if (known !== undefined && known.node.version >= node.version) return known.look <= before ? known.node : node;
    this.#newest.delete(ownerId);
    if (this.#newest.size >= maxRemembered) this.#newest.delete(this.#newest.keys().next().value as string);
    this.#looks += 1;
    this.#newest.set(ownerId, { node, look: this.#looks });
    return node;
  }

  #isInForce(ownerId: string, nodes: ReadonlyMap<string, { node: VersionNode | null }>): boolean {
    const bucketId = bucketOf(ownerId);
    const [owner, bucket, head] = [ownerId, bucketId, headId].map((id) => nodes.get(id)?.node ?? null);
    return !!owner && owner.version === bucket?.children[ownerId] && bucket.version === head?.children[bucketId];
  }

  /** Reports a head that is older than one that was seen before it was read. */
  async #noteHead(sealed: Uint8Array | null, headBefore: number): Promise<void> {
    const head = await this.#open(headId, sealed);
    if (head === null) return;
    this.#headVersion = Math.max(this.#headVersion, head.version);
    if (head.version >= headBefore) return;
    this.report(
      'the database went back to an earlier state as a whole while this server ran: it was restored, failed over to a ' +
        'standby that lagged behind, or was tampered with',
    );
  }

  /** One write after the other within this process; against other processes the head decides. */
  #inTurn(prepare: (path: ReadPath) => Promise<Commit | null>): Promise<QueryResult<unknown>[] | null> {
    const queuedAt = performance.now();
    const attempt = async (): Promise<QueryResult<unknown>[] | null> => {
      // Its caller has been told so already.
      if (this.#stallsIn(queuedAt) <= 0) throw stalled();
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
          const now = (await this.#readNodes([headId])).get(headId)?.sealed;
          if (now === undefined || (before !== null && Buffer.compare(now, before) === 0)) throw error;
          if (attempts > 2) await delay(Math.random() * 20);
        }
      }
    };
    const turn = this.#writing.then(attempt, attempt);
    const ended = (error?: unknown): void => {
      if (!(error instanceof StoreUnavailable)) this.#progressAt = performance.now();
    };
    this.#writing = turn.then(() => ended(), ended);
    return this.#unlessStalled(turn, queuedAt);
  }

  /** How long a write that was queued then may still wait before the database counts as hanging. */
  #stallsIn(queuedAt: number): number {
    return Math.max(queuedAt, this.#progressAt) + stallMs - performance.now();
  }

  #unlessStalled<T>(turn: Promise<T>, queuedAt: number): Promise<T> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout;
      const check = (): void => {
        const leftMs = this.#stallsIn(queuedAt);
        if (leftMs <= 0) reject(stalled());
        else timer = setTimeout(check, leftMs);
      };
      timer = setTimeout(check, stallMs);
      turn.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  async #readPath(ownerIds: readonly string[], isChecked: boolean): Promise<Path> {
    const lookBefore = this.#looks;
    const nodes = await this.#readNodes([headId, ...new Set(ownerIds.map(bucketOf)), ...ownerIds]);
    const head = nodes.get(headId);
    if (head === undefined || head.node === null) {
      throw new RowsRolledBack("the versions of rows are missing or were altered: see 'tocsin doctor'");
    }
    const [buckets, owners] = [new Map<string, VersionNode>(), new Map<string, VersionNode>()];
    for (const ownerId of ownerIds) {
      const bucketId = bucketOf(ownerId);
      const bucket = nodes.get(bucketId)?.node ?? emptyNode;
      const owner = nodes.get(ownerId)?.node ?? emptyNode;
      // A write over nodes that were put back would bring them into force.
      const bucketFits = bucket.version === (head.node.children[bucketId] ?? 0);
      const ownerFits = owner.version === (bucket.children[ownerId] ?? 0);
      if (!bucketFits || (isChecked && !ownerFits)) {
        this.report(`row_versions ${ownerId}: ${rolledBack}`);
        throw new RowsRolledBack(`rows of ${ownerId} were put back to an earlier state: see 'tocsin doctor'`);
      }
      buckets.set(bucketId, bucket);
      if (bucket.children[ownerId] === undefined) {
        // The owner was deleted, by another process perhaps: what this one remembers must not come back with a write.
        this.#remember(ownerId, { version: head.node.version, children: {} }, lookBefore);
        owners.set(ownerId, emptyNode);
      } else owners.set(ownerId, this.#remember(ownerId, owner, lookBefore));
    }
    return { head: { node: head.node, sealed: head.sealed }, buckets, owners };
  }

  async #commit(commit: Commit): Promise<QueryResult<unknown>[]> {
    const { build } = this.#database;
    let count = 0;
    const results = await this.#master.write((master) => {
      const { queries, written } = commit.rows(master);
      count = queries.length;
      const nodes = this.#nodesAfter(commit);
      // In the order of their ids, as a rotation of the master key goes through them: neither waits for the other in turn.
      const ids = [...nodes.keys()].sort();
      const sealedHead = encryptNode(master, headId, nodes.get(headId) as VersionNode);
      const put = (some: readonly string[]): CompiledQuery[] =>
        batches(some).map((batch) =>
          this.#put(batch.map((id) => ({ id, sealed: encryptNode(master, id, nodes.get(id) as VersionNode) }))),
        );
      const updates = [
        ...put(ids.filter((id) => id < headId)),
        this.#putHead(sealedHead, commit.head.sealed),
        ...put(ids.filter((id) => id > headId)),
      ];
      const removals = commit.removed.map((id) => build.deleteFrom('row_versions').where('id', '=', id).compile());
      return [
        ...queries,
        ...updates,
        ...removals,
        this.#mustHold(sql`exists (select 1 from row_versions where id = ${headId} and sealed = ${sealedHead})`),
        ...(written === undefined ? [] : [this.#mustHold(isWritten(written))]),
        bumpGeneration(this.#database),
      ];
    });
    for (const [ownerId, node] of commit.owners) this.#remember(ownerId, node, this.#looks);
    const gone = { version: commit.version, children: {} };
    for (const ownerId of commit.removed) this.#remember(ownerId, gone, this.#looks);
    return results.slice(0, count);
  }

  /** The nodes to write. */
  #nodesAfter({ head, buckets, owners, removed, version }: Commit): Map<string, VersionNode> {
    const nodes = new Map<string, VersionNode>(owners);
    const changedBuckets: Record<string, number> = {};
    for (const [bucketId, bucket] of buckets) {
      const changes: Record<string, number | null> = {};
      for (const ownerId of owners.keys()) if (bucketOf(ownerId) === bucketId) changes[ownerId] = version;
      for (const ownerId of removed) if (bucketOf(ownerId) === bucketId) changes[ownerId] = null;
      nodes.set(bucketId, { version, children: withChanges(bucket.children, changes) });
      changedBuckets[bucketId] = version;
    }
    return nodes.set(headId, { ...head.node, version, children: withChanges(head.node.children, changedBuckets) });
  }

  #put(nodes: readonly { id: string; sealed: Uint8Array }[]): CompiledQuery {
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

  /** `value` cannot be null: where the condition does not hold this fails, and the transaction with it. */
  #mustHold(condition: RawBuilder<unknown>): CompiledQuery {
    return sql`insert into meta (name, value) select 'conflict', null where not ${condition}`.compile(
      this.#database.build,
    );
  }

  async #readNodes(
    ids: readonly string[] | null,
  ): Promise<Map<string, { sealed: Uint8Array; node: VersionNode | null }>> {
    const { build, read } = this.#database;
    const query = build.selectFrom('row_versions').selectAll();
    const rows = await read((ids === null ? query : query.where('id', 'in', ids)).compile());
    const nodes = new Map<string, { sealed: Uint8Array; node: VersionNode | null }>();
    for (const { id, sealed } of rows) nodes.set(id, { sealed, node: await this.#open(id, sealed) });
    return nodes;
  }

  /** null where there is none, or it does not decrypt. */
  async #open(id: string, sealed: Uint8Array | null): Promise<VersionNode | null> {
    if (sealed === null) return null;
    const known = this.#decrypted.get(id);
    if (known !== undefined && Buffer.compare(known.sealed, sealed) === 0) return known.node;
    try {
      const node = JSON.parse((await this.#master.decrypt(nodeContext(id), sealed)).toString('utf8')) as VersionNode;
      if (this.#decrypted.size >= maxRemembered) this.#decrypted.clear();
      this.#decrypted.set(id, { sealed, node });
      return node;
    } catch (error) {
      if (error instanceof DecryptionFailed) return null;
      throw error;
    }
  }
}

type ReadPath = (ownerIds: readonly string[], isChecked?: boolean) => Promise<Path>;

interface Path {
  head: { node: VersionNode; sealed: Uint8Array | null };
  buckets: Map<string, VersionNode>;
  owners: Map<string, VersionNode>;
}

interface Commit extends Path {
  removed: readonly string[];
  version: number;
  rows: RowChange['rows'];
}

const emptyNode: VersionNode = { version: 0, children: {} };
export const rolledBack =
  'it is not the state in force: an earlier one was put back, or it was added or removed from outside';

export const headRolledBack =
  'row_versions head: it is older than other rows and versions, so an earlier state of it was put back; what was written ' +
  'since is refused';

export function nodeContext(id: string): CipherContext {
  return { table: 'row_versions', ownerId: '', rowId: id, column: 'sealed' };
}

/** The columns that `find` and `list` need beside those of the row. */
export function nodesAbove(table: VersionedTable): readonly AliasedRawBuilder<Uint8Array | null, keyof NodesAbove>[] {
  const owner = sql.ref(table === 'owners' ? 'owners.id' : `${table}.owner_id`);
  const node = (id: RawBuilder<unknown>) =>
    sql<Uint8Array | null>`(select row_versions.sealed from row_versions where row_versions.id = ${id})`;
  return [
    node(owner as RawBuilder<unknown>).as('owner_versions'),
    node(sql`${sql.lit(bucketPrefix)} || substr(${owner}, length(${owner}), 1)`).as('bucket_versions'),
    node(sql.lit(headId)).as('head_versions'),
  ];
}

export function childName(table: VersionedTable, id: string): string {
  return `${table}/${id}`;
}

/** Owners by the last character of their id, which is random. */
function bucketOf(ownerId: string): string {
  return `${bucketPrefix}${ownerId.slice(-1)}`;
}

export function keyOf(table: VersionedTable, row: object): { ownerId: string; id: string } {
  const columns = row as { id: string; owner_id: string; token_digest: string };
  if (table === 'owners') return { ownerId: columns.id, id: columns.id };
  return { ownerId: columns.owner_id, id: table === 'one_time_links' ? columns.token_digest : columns.id };
}

/** For messages. The whole digest of a link is nobody's business. */
export function rowName(table: VersionedTable, row: object): string {
  const { ownerId, id } = keyOf(table, row);
  if (table === 'owners') return `${table} ${id}`;
  return `${table} ${ownerId}/${table === 'one_time_links' ? id.slice(0, 8) : id}`;
}

function nextVersion(head: VersionNode): number {
  return Math.max(head.version + 1, Date.now());
}

function withChanges(
  children: Readonly<Record<string, number>>,
  changes: Readonly<Record<string, number | null>>,
): Record<string, number> {
  const all = Object.entries({ ...children, ...changes });
  return Object.fromEntries(all.filter((entry): entry is [string, number] => entry[1] !== null));
}

/** For statements of a bounded size. */
function batches<T>(all: readonly T[], size = 500): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}

function encryptNode(master: EncryptionKey, id: string, node: VersionNode): Buffer {
  return encrypt(master, nodeContext(id), JSON.stringify(node));
}

function isWritten({ table, ownerId, sealed }: NonNullable<RowQueries['written']>): RawBuilder<unknown> {
  const owner = sql.ref(table === 'owners' ? 'id' : 'owner_id');
  return sql`exists (select 1 from ${sql.table(table)} where ${owner} = ${ownerId} and sealed = ${sealed})`;
}

function keys(node: VersionNode | null | undefined): string[] {
  return Object.keys(node?.children ?? {});
}

function stalled(): StoreUnavailable {
  return new StoreUnavailable(`the database did not answer within ${stallMs} ms`);
}
