// Deletes expired rows, and the rows of deleted notifications and owners, in batches.

import { type CompiledQuery, sql } from 'kysely';
import { dayMs } from '../../core/duration.ts';
import { firstIdAt } from '../../core/uuid-v7.ts';
import type { StoreMaintenance } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { RowVersions } from '../vault/row-versions.ts';
import { purgeSignIns } from './purge-sign-ins.ts';

/** Rows deleted per transaction; small, so that requests are not delayed. */
export const purgeBatch = 1000;

/** Tables whose rows are deleted before their notification, by `notification_id`. */
export const tablesOfNotifications = ['deliveries', 'dispatches', 'originals', 'mqtt_receipts'] as const;

export function createPurge(database: Database, versions: RowVersions): StoreMaintenance['purge'] {
  const { build } = database;
  return async (before, now, signal) => {
    await deleteInBatches(database, deleteExpired(database, 'used_signatures', 'signature', now), signal);
    await deleteInBatches(database, deleteExpired(database, 'idempotency', 'key_digest', now), signal);
    await purgeSignIns(database, versions, now, signal);
    const oldCounts = build.deleteFrom('request_counts').where('resets_at', '<', now - dayMs);
    await database.write([oldCounts.compile()]);
    let purged = 0;
    for await (const ownerId of ownersOfNotifications(database)) {
      if (signal?.aborted) break;
      const [owner] = await database.read(build.selectFrom('owners').select('id').where('id', '=', ownerId).compile());
      // Ids grow with time, so the primary key finds old rows. All rows of a deleted owner are deleted.
      purged += await deleteNotifications(database, ownerId, owner === undefined ? null : firstIdAt(before), signal);
    }
    return purged;
  };
}

function deleteExpired(
  { build }: Database,
  table: 'used_signatures' | 'idempotency',
  column: 'signature' | 'key_digest',
  now: number,
): CompiledQuery {
  const [name, key] = [sql.table(table), sql.ref(column)];
  return sql`delete from ${name} where (owner_id, ${key}) in (
    select owner_id, ${key} from ${name} where expires_at < ${now} limit ${purgeBatch}
  )`.compile(build);
}

/** Skips from owner to owner in the primary key instead of scanning all rows. */
async function* ownersOfNotifications({ build, read }: Database): AsyncGenerator<string> {
  for (let last = ''; ; ) {
    const next = build.selectFrom('notifications').select('owner_id').where('owner_id', '>', last);
    const [row] = await read(next.orderBy('owner_id').limit(1).compile());
    if (row === undefined) return;
    last = row.owner_id;
    yield last;
  }
}

/** Deletes an owner's notifications with ids below this one (null: all) and their delivery status; returns how many. */
export async function deleteNotifications(
  database: Database,
  ownerId: string,
  belowId: string | null,
  signal?: AbortSignal,
): Promise<number> {
  const batchOf = (table: string, column: string): CompiledQuery => {
    const [name, id] = [sql.table(table), sql.ref(column)];
    const bound = belowId === null ? sql`` : sql`and ${id} < ${belowId}`;
    return sql`delete from ${name} where owner_id = ${ownerId} and ${id} in (
      select ${id} from ${name} where owner_id = ${ownerId} ${bound} order by ${id} limit ${purgeBatch}
    )`.compile(database.build);
  };
  for (const table of tablesOfNotifications) {
    await deleteInBatches(database, batchOf(table, 'notification_id'), signal);
  }
  const deleted = await deleteInBatches(database, batchOf('notifications', 'id'), signal);
  // Last, so that deleted notifications do not reappear in the inbox.
  await deleteInBatches(database, batchOf('inbox_marks', 'notification_id'), signal);
  return deleted;
}

/** Tables besides notifications that may have many rows of one owner. */
const highVolumeTables = {
  mqtt_waiting: ['device_id', 'client_id', 'notification_id'],
  used_signatures: ['signature'],
  idempotency: ['key_digest'],
  request_counts: ['key_id', 'window_ms'],
  delivery_lanes: ['channel', 'target'],
} as const;

export async function deleteHighVolumeRows(database: Database, ownerId: string): Promise<void> {
  for (const [table, columns] of Object.entries(highVolumeTables)) {
    const name = sql.table(table);
    const key = sql.join(columns.map((column) => sql.ref(column)));
    const batch = sql`delete from ${name} where owner_id = ${ownerId} and (${key}) in (
      select ${key} from ${name} where owner_id = ${ownerId} limit ${purgeBatch}
    )`.compile(database.build);
    await deleteInBatches(database, batch);
  }
}

/** Repeats a statement that deletes a batch until no row is left; returns the number of rows deleted. */
export async function deleteInBatches(
  database: Database,
  statement: CompiledQuery,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0;
  for (let deleted = purgeBatch; deleted >= purgeBatch && !signal?.aborted; total += deleted) {
    deleted = (await database.write([statement]))[0]?.changes ?? 0;
  }
  return total;
}
