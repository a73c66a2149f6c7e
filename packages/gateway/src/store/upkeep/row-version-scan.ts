// Scans all rows that carry a version: adopts those that servers of the previous version wrote, and finds those that were
// rolled back.
import type { CompiledQuery } from 'kysely';
import { dayMs, hourMs, minuteMs } from '../../core/duration.ts';
import { DecryptionFailed, EncryptionKeyMissing } from '../../usecases/ports/index.ts';
import { ConstraintViolated, type Database } from '../schema/database.ts';
import { encryptVersioned } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';
import { headRolledBack, RowsRolledBack, type RowVersions, rolledBack } from '../vault/row-versions.ts';
import {
  type AdoptionState,
  childName,
  keyOf,
  rowName,
  type VersionedTable,
  type VersionNode,
  versionedTables,
} from '../vault/version-tree.ts';
import { encryptedColumns, rowsOf } from './encrypted-columns.ts';

/** A running server adopts rows at this interval, and at every call near the end of the period. */
const upkeepMs = hourMs;
const nearEndMs = 30 * minuteMs;
/** Servers of the previous version may write rows for 24 hours; the rest is for adopting the last of them. */
const trustMs = dayMs + 20 * minuteMs;
/** Owners adopted per transaction; small, so that requests are not delayed. */
const batchSize = 100;

interface FoundRow {
  table: VersionedTable;
  /** The row in messages. */
  name: string;
  ownerId: string;
  id: string;
  /** null: it cannot be decrypted, which is reported elsewhere. */
  value: { rowVersion?: number } | null;
  sealed: Uint8Array;
}

/**
 * The first start of this version adopts all rows as they are. For a day after it, every start adopts rows without a
 * version, since servers of the previous version may write them. An interrupted adoption is resumed by the next process
 * that opens the store.
 */
export async function prepareRowVersions(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
  mode: 'create' | 'existing',
): Promise<void> {
  for (;;) {
    const head = await versions.readHead();
    if (head === 'damaged') return versions.report(lost);
    if (head !== 'none') {
      const isDue = head.isTakeOverUnfinished || (isTrusting(head) && mode === 'create');
      return isDue ? adoptUnversioned(database, keyring, versions) : undefined;
    }
    const rows = await Array.fromAsync(versionedRows(database, keyring));
    // Rows that had a version are not adopted after their versions were deleted.
    if (rows.some(({ value }) => (value?.rowVersion ?? 0) > 0)) return versions.report(lost);
    try {
      const trust = rows.length === 0 ? {} : { trustUnversionedUntil: Date.now() + trustMs };
      return await adoptAll(database, keyring, versions, rows, trust);
    } catch (error) {
      // Another process wrote first: scan again.
      if (!(error instanceof ConstraintViolated)) throw error;
    }
  }
}

/** For a running server: adopts rows of servers of the previous version, often enough to miss none. */
export function createAdoptionUpkeep(database: Database, keyring: Keyring, versions: RowVersions): () => Promise<void> {
  let lastAt = 0;
  return async () => {
    const head = await versions.readHead();
    if (head === 'none' || head === 'damaged') return;
    const now = Date.now();
    const leftMs = (head.trustUnversionedUntil ?? 0) - now;
    const isNearEnd = leftMs > 0 && leftMs < nearEndMs;
    if (!head.isTakeOverUnfinished && !isNearEnd && Math.abs(now - lastAt) < upkeepMs) return;
    await prepareRowVersions(database, keyring, versions, 'create');
    lastAt = now;
  };
}

/** Accepts all rows as they are, by decision of the operator. */
export async function trustRows(database: Database, keyring: Keyring, versions: RowVersions): Promise<number> {
  for (;;) {
    let count = 0;
    try {
      await versions.replaceAll(async (version) => {
        const rows = await Array.fromAsync(versionedRows(database, keyring));
        count = rows.length;
        const owners = new Map<string, Record<string, number>>();
        const queries: CompiledQuery[] = [];
        for (const [ownerId, ownRows] of Map.groupBy(rows, (row) => row.ownerId)) {
          const children = versionsOf(ownRows);
          const update = await markOwner(database, keyring, ownerId, ownRows, version);
          if (update !== null) {
            queries.push(update);
            children[childName('owners', ownerId)] = version;
          }
          owners.set(ownerId, children);
        }
        return { owners, queries };
      });
      return count;
    } catch (error) {
      // A server wrote first: scan again.
      if (!(error instanceof ConstraintViolated)) throw error;
    }
  }
}

/** Rows that were rolled back, added or removed; empty if there are none. */
export async function findRolledBack(database: Database, keyring: Keyring, versions: RowVersions): Promise<string[]> {
  const first = await scan(database, keyring, versions);
  if (first.length === 0) return [];
  // Rows and versions are not read in one snapshot, so only problems found twice count.
  const again = new Set(await scan(database, keyring, versions));
  return first.filter((problem) => again.has(problem));
}

async function scan(database: Database, keyring: Keyring, versions: RowVersions): Promise<string[]> {
  const head = await versions.readHead();
  if (head === 'none' || head === 'damaged') return [lost];
  const isTrusted = isTrusting(head);
  const { owners, problems } = await versions.readOwners();
  let newest = 0;
  const missing = new Set([...owners.values()].flatMap(({ children }) => Object.keys(children)));
  for await (const { table, name, ownerId, id, value } of versionedRows(database, keyring)) {
    const child = childName(table, id);
    missing.delete(child);
    if (value === null) continue;
    const { rowVersion = 0 } = value;
    newest = Math.max(newest, rowVersion);
    if (owners.get(ownerId)?.children[child] === rowVersion || (rowVersion === 0 && isTrusted)) continue;
    problems.push(`${name}: ${rolledBack}`);
  }
  // Read after the rows, since concurrent writes advance it.
  const after = await versions.readHead();
  const isHeadOlder = typeof after === 'object' && newest > after.version;
  if (isHeadOlder && !problems.includes(headRolledBack)) problems.push(headRolledBack);
  if (!isTrusted)
    for (const name of missing) problems.push(`${name.replace('/', ' ')}: missing: it was removed outside Tocsin`);
  return problems;
}

/** Adopts all rows of a store without versions. */
async function adoptAll(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
  rows: readonly FoundRow[],
  trust: AdoptionState,
): Promise<void> {
  const owners = [...Map.groupBy(rows, ({ ownerId }) => ownerId)];
  let head: VersionNode | null = null;
  for (let done = 0; done === 0 || done < owners.length; done += batchSize) {
    const batch = owners.slice(done, done + batchSize);
    const children = new Map(batch.map(([ownerId, ownRows]) => [ownerId, versionsOf(ownRows)]));
    const mark = async (version: number): Promise<CompiledQuery[]> => {
      const queries: CompiledQuery[] = [];
      for (const [ownerId, ownRows] of batch) {
        const update = await markOwner(database, keyring, ownerId, ownRows, version);
        if (update === null) continue;
        queries.push(update);
        (children.get(ownerId) as Record<string, number>)[childName('owners', ownerId)] = version;
      }
      return queries;
    };
    const isTakeOverUnfinished = done + batchSize < owners.length;
    head = await versions.replace(head, children, mark, { ...trust, isTakeOverUnfinished });
  }
}

/** Adopts rows without a version while servers are writing. */
async function adoptUnversioned(database: Database, keyring: Keyring, versions: RowVersions): Promise<void> {
  const byOwner = Map.groupBy(await Array.fromAsync(versionedRows(database, keyring)), ({ ownerId }) => ownerId);
  const { owners: known, problems } = await versions.readOwners();
  for (const problem of problems) versions.report(problem);
  for (const ownerId of new Set([...byOwner.keys(), ...known.keys()])) {
    const seen = known.get(ownerId)?.children ?? {};
    if (isSame(withUnversioned(seen, byOwner.get(ownerId) ?? []), seen)) continue;
    try {
      await versions.write(ownerId, async (version, before, head) => {
        // After the period for servers of the previous version, only owners that an interrupted adoption has not reached.
        if (!isTrusting(head) && before[childName('owners', ownerId)] !== undefined) return null;
        const rows = await Array.fromAsync(versionedRows(database, keyring, ownerId));
        const after = withUnversioned(before, rows);
        if (isSame(after, before)) return null;
        const update = await markOwner(database, keyring, ownerId, rows, version);
        if (update !== null) after[childName('owners', ownerId)] = version;
        const removed = Object.keys(before).map((name) => [name, null]);
        const queries = update === null ? [] : [update];
        return { children: { ...Object.fromEntries(removed), ...after }, rows: () => ({ queries }) };
      });
    } catch (error) {
      // The node was rolled back, which is reported. Its rows are not adopted.
      if (!(error instanceof RowsRolledBack)) throw error;
    }
  }
  await versions.endAdoption();
}

/** Gives the row of the owner its first version, by which later scans know that there were versions; null: it has one. */
async function markOwner(
  { build }: Database,
  keyring: Keyring,
  ownerId: string,
  rows: readonly FoundRow[],
  version: number,
): Promise<CompiledQuery | null> {
  const owner = rows.find(({ table, value }) => table === 'owners' && value !== null && !value.rowVersion);
  if (owner === undefined) return null;
  const key = await keyring.current(ownerId);
  const sealed = encryptVersioned(key, 'owners', ownerId, ownerId, owner.value as object, version);
  // A concurrent change by a server of the previous version is kept, and adopted the next time.
  const isUnchanged = build.updateTable('owners').set({ sealed }).where('id', '=', ownerId);
  return isUnchanged.where('sealed', '=', owner.sealed).compile();
}

function versionsOf(rows: readonly FoundRow[]): Record<string, number> {
  return Object.fromEntries(rows.map(({ table, id, value }) => [childName(table, id), value?.rowVersion ?? 0]));
}

/**
 * Adds rows without a version to the valid versions. Rows that have or had a version are not changed: only this version
 * writes them, so if they differ they were rolled back or removed.
 */
function withUnversioned(before: Record<string, number>, rows: readonly FoundRow[]): Record<string, number> {
  const present = new Set(rows.map(({ table, id }) => childName(table, id)));
  const kept = Object.entries(before).filter(([name, version]) => version !== 0 || present.has(name));
  const children = Object.fromEntries(kept);
  for (const { table, id, value } of rows) {
    const name = childName(table, id);
    if (value === null) children[name] ??= 0;
    else if (!value.rowVersion) children[name] = 0;
  }
  return children;
}

function isTrusting({ trustUnversionedUntil = 0 }: VersionNode): boolean {
  return trustUnversionedUntil > Date.now();
}

/** All rows with a version, or those of one owner. */
async function* versionedRows(database: Database, keyring: Keyring, ownerId?: string): AsyncGenerator<FoundRow> {
  for (const column of encryptedColumns) {
    const table = versionedTables.find((each) => each === column.table);
    if (table === undefined) continue;
    for await (const row of rowsOf(database, column, ownerId)) {
      const key = column.key.map((name) => row[name] as string);
      const keys = column.encryptedWith === 'master key' ? keyring.master : keyring;
      const value = await keys.decrypt(column.contextOf(key), row.sealed as Uint8Array).then(
        (plaintext) => JSON.parse(plaintext.toString('utf8')) as { rowVersion?: number },
        (error: unknown) => {
          if (error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing) return null;
          throw error;
        },
      );
      yield { table, name: rowName(table, row), ...keyOf(table, row), value, sealed: row.sealed as Uint8Array };
    }
  }
}

function isSame(one: Record<string, number>, other: Record<string, number>): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

const lost =
  'row_versions: the row versions were removed or altered, so no key, session or owner is accepted. Restore a backup; ' +
  "or check owners and keys, and accept the rows as they are with 'tocsin doctor --trust-rows'.";
