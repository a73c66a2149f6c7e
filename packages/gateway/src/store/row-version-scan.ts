// Goes through all rows that carry a version: takes over those that the version before wrote, and finds those that are not
// in force.
import type { CompiledQuery } from 'kysely';
import { EncryptionKeyMissing, SealBroken } from '../gateway/ports.ts';
import { ConstraintViolated, type Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import {
  childName,
  keyOf,
  type RowVersions,
  rolledBack,
  rowName,
  type VersionedTable,
  type VersionNode,
  versionedTables,
} from './row-versions.ts';
import { sealVersioned } from './sealed-columns.ts';
import { rowsOf, sealedColumns } from './sealed-places.ts';

/** How long servers of the version before may go on writing rows without a version. */
const trustMs = 24 * 60 * 60 * 1000;
/** Taken over per transaction, so that no request waits for long. */
const batchSize = 100;

interface FoundRow {
  table: VersionedTable;
  /** For messages. */
  name: string;
  ownerId: string;
  id: string;
  /** null: it does not decrypt, which is reported elsewhere. */
  value: { rowVersion?: number } | null;
}

/** At the first start of this version, and for a day after it: the rows as they are are those in force. */
export async function prepareRowVersions(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
  mode: 'create' | 'existing',
): Promise<void> {
  for (;;) {
    const head = await versions.readHead();
    if (head === 'damaged') return versions.report(lost);
    const isTrusting = head !== 'none' && (head.trustUnversionedUntil ?? 0) > Date.now();
    if (head !== 'none' && !(isTrusting && mode === 'create')) return;
    const rows = await Array.fromAsync(versionedRows(database, keyring));
    // Whoever deletes all versions does not get rows taken over that had one.
    if (head === 'none' && rows.some(({ value }) => (value?.rowVersion ?? 0) > 0)) return versions.report(lost);
    try {
      const trust = rows.length === 0 ? {} : { trustUnversionedUntil: Date.now() + trustMs };
      return await takeOver(
        database,
        keyring,
        versions,
        head === 'none' ? null : head,
        rows,
        head === 'none' ? trust : {},
      );
    } catch (error) {
      // Another process wrote first: look again.
      if (!(error instanceof ConstraintViolated)) throw error;
    }
  }
}

/** Takes the rows as they are for those in force, on the word of the operator. */
export async function trustRows(database: Database, keyring: Keyring, versions: RowVersions): Promise<number> {
  await database.write([database.build.deleteFrom('row_versions').compile()]);
  const rows = await Array.fromAsync(versionedRows(database, keyring));
  await takeOver(database, keyring, versions, null, rows, {});
  return rows.length;
}

/** What is not in force, or missing; empty when all is well. */
export async function findRolledBack(database: Database, keyring: Keyring, versions: RowVersions): Promise<string[]> {
  const first = await look(database, keyring, versions);
  if (first.length === 0) return [];
  // Rows and versions are not read at one moment, so only what is found twice counts.
  const again = new Set(await look(database, keyring, versions));
  return first.filter((problem) => again.has(problem));
}

async function look(database: Database, keyring: Keyring, versions: RowVersions): Promise<string[]> {
  const head = await versions.readHead();
  if (head === 'none' || head === 'damaged') return [lost];
  const isTrusting = (head.trustUnversionedUntil ?? 0) > Date.now();
  const { owners, problems } = await versions.readOwners();
  const missing = new Set([...owners.values()].flatMap(({ children }) => Object.keys(children)));
  for await (const { table, name, ownerId, id, value } of versionedRows(database, keyring)) {
    const child = childName(table, id);
    missing.delete(child);
    if (value === null) continue;
    const { rowVersion = 0 } = value;
    if (owners.get(ownerId)?.children[child] === rowVersion || (rowVersion === 0 && isTrusting)) continue;
    problems.push(`${name}: ${rolledBack}`);
  }
  if (!isTrusting) for (const name of missing) problems.push(`${name.replace('/', ' ')}: missing: it was removed`);
  return problems;
}

const noOwners = { owners: new Map<string, VersionNode>(), problems: [] };

async function takeOver(
  database: Database,
  keyring: Keyring,
  versions: RowVersions,
  head: VersionNode | null,
  rows: readonly FoundRow[],
  trust: Pick<VersionNode, 'trustUnversionedUntil'>,
): Promise<void> {
  const { owners: known, problems } = head === null ? noOwners : await versions.readOwners();
  // Nothing that was put back is brought into force by a start.
  for (const problem of problems) versions.report(problem);
  if (problems.length > 0) return;
  const byOwner = Map.groupBy(rows, ({ ownerId }) => ownerId);
  const childrenOf = (ownerId: string, ownRows: readonly FoundRow[]): Record<string, number> =>
    Object.fromEntries(
      ownRows.map(({ table, id, value }) => {
        const name = childName(table, id);
        return [name, value === null ? (known.get(ownerId)?.children[name] ?? 0) : (value.rowVersion ?? 0)];
      }),
    );
  const changed = [...byOwner].filter(
    ([ownerId, ownRows]) => !isSame(childrenOf(ownerId, ownRows), known.get(ownerId)?.children ?? {}),
  );
  let current = head;
  if (changed.length === 0 && head === null) await versions.replace(null, new Map(), async () => [], trust);
  for (let done = 0; done < changed.length; done += batchSize) {
    const batch = new Map(changed.slice(done, done + batchSize));
    const children = new Map([...batch].map(([ownerId, ownRows]) => [ownerId, childrenOf(ownerId, ownRows)]));
    const mark = async (version: number): Promise<CompiledQuery[]> => {
      const queries: CompiledQuery[] = [];
      for (const [ownerId, ownRows] of batch) {
        const profile = ownRows.find(({ table, value }) => table === 'owners' && value !== null && !value.rowVersion);
        if (profile === undefined) continue;
        // With its first version, the row of the owner tells from then on that there were versions.
        const key = await keyring.current(ownerId);
        const sealed = sealVersioned(key, 'owners', ownerId, ownerId, profile.value as object, version);
        queries.push(database.build.updateTable('owners').set({ sealed }).where('id', '=', ownerId).compile());
        (children.get(ownerId) as Record<string, number>)[childName('owners', ownerId)] = version;
      }
      return queries;
    };
    current = await versions.replace(current, children, mark, trust);
  }
}

async function* versionedRows(database: Database, keyring: Keyring): AsyncGenerator<FoundRow> {
  for (const column of sealedColumns) {
    const table = versionedTables.find((each) => each === column.table);
    if (table === undefined) continue;
    for await (const row of rowsOf(database, column)) {
      const key = column.key.map((name) => row[name] as string);
      const opener = column.sealedBy === 'master key' ? keyring.master : keyring;
      const value = await opener.unseal(column.placeOf(key), row.sealed as Uint8Array).then(
        (plaintext) => JSON.parse(plaintext.toString('utf8')) as { rowVersion?: number },
        (error: unknown) => {
          if (error instanceof SealBroken || error instanceof EncryptionKeyMissing) return null;
          throw error;
        },
      );
      yield { table, name: rowName(table, row), ...keyOf(table, row), value };
    }
  }
}

function isSame(one: Record<string, number>, other: Record<string, number>): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

const lost =
  'row_versions: the versions of rows were removed or altered, so no key, session or owner is accepted. Restore a backup; ' +
  "or check owners and keys, and accept the rows as they are with 'tocsin doctor --trust-rows'.";
