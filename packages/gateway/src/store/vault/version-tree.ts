// The tree of row versions: one node per owner with the versions of the owner's rows, one node per bucket of owners, and
// one head. Nodes are rows of the table `row_versions`; see `row-versions.ts` for their purpose.
import { type AliasedRawBuilder, type RawBuilder, sql } from 'kysely';

export const versionedTables = [
  'owners',
  'api_keys',
  'hooks',
  'sessions',
  'one_time_links',
  'passkeys',
  'oidc_identities',
] as const;
export type VersionedTable = (typeof versionedTables)[number];

export interface VersionNode {
  /** Grows with every write; at least the time of the write, so that it also grows after a restore. */
  version: number;
  /** The valid versions of the rows or nodes below this node. */
  children: Record<string, number>;
  /** Only in the head: until then rows without a version are valid, since servers of the previous version may write them. */
  trustUnversionedUntil?: number;
  /** Only in the head: the adoption of rows without a version was interrupted, and is resumed at the next opportunity. */
  isTakeOverUnfinished?: boolean;
}

/** The fields of the head that an adoption changes. */
export type AdoptionState = Pick<VersionNode, 'trustUnversionedUntil' | 'isTakeOverUnfinished'>;

/** The nodes above a row, read in the same statement as the row. */
export interface NodesAbove {
  owner_versions: Uint8Array | null;
  bucket_versions: Uint8Array | null;
  head_versions: Uint8Array | null;
}

/** The decrypted value of a row without its version, which is 0 in rows of the previous version. */
export interface Versioned<T> {
  value: T;
  rowVersion: number;
}

/** The nodes that a write reads and replaces. */
export interface NodePath {
  head: { node: VersionNode; sealed: Uint8Array | null };
  buckets: Map<string, VersionNode>;
  owners: Map<string, VersionNode>;
}

/** `owners` are the new nodes; `removed` are owners whose nodes are deleted. */
export interface TreeChange extends NodePath {
  removed: readonly string[];
  version: number;
}

export const headId = 'head';
export const bucketPrefix = 'bucket:';
export const emptyNode: VersionNode = { version: 0, children: {} };

/** The columns that `RowVersions.find` and `list` need besides those of the row. */
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

/** The name of a row in the node of its owner. */
export function childName(table: VersionedTable, id: string): string {
  return `${table}/${id}`;
}

/** Buckets are formed by the last character of the owner id, which is random. */
export function bucketOf(ownerId: string): string {
  return `${bucketPrefix}${ownerId.slice(-1)}`;
}

export function childIds(node: VersionNode | null | undefined): string[] {
  return Object.keys(node?.children ?? {});
}

export function keyOf(table: VersionedTable, row: object): { ownerId: string; id: string } {
  const columns = row as { id: string; owner_id: string; token_digest: string };
  if (table === 'owners') return { ownerId: columns.id, id: columns.id };
  return { ownerId: columns.owner_id, id: table === 'one_time_links' ? columns.token_digest : columns.id };
}

/** The row in messages. The digest of a link is shortened, since it is a credential. */
export function rowName(table: VersionedTable, row: object): string {
  const { ownerId, id } = keyOf(table, row);
  if (table === 'owners') return `${table} ${id}`;
  return `${table} ${ownerId}/${table === 'one_time_links' ? id.slice(0, 8) : id}`;
}

export function nextVersion(head: VersionNode): number {
  return Math.max(head.version + 1, Date.now());
}

export function withChanges(
  children: Readonly<Record<string, number>>,
  changes: Readonly<Record<string, number | null>>,
): Record<string, number> {
  const all = Object.entries({ ...children, ...changes });
  return Object.fromEntries(all.filter((entry): entry is [string, number] => entry[1] !== null));
}

/** Whether the versions of the nodes match from the owner up to the head. */
export function isValidPath(ownerId: string, nodes: ReadonlyMap<string, { node: VersionNode | null }>): boolean {
  const bucketId = bucketOf(ownerId);
  const [owner, bucket, head] = [ownerId, bucketId, headId].map((id) => nodes.get(id)?.node ?? null);
  return !!owner && owner.version === bucket?.children[ownerId] && bucket.version === head?.children[bucketId];
}

/** All nodes that a change writes: those of its owners, their buckets, and the head. */
export function nodesAfter({ head, buckets, owners, removed, version }: TreeChange): Map<string, VersionNode> {
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
