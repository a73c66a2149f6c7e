import { type CompiledQuery, sql } from 'kysely';
import { firstIdAt } from '../core/uuid-v7.ts';
import type { Notification, NotificationContent, NotificationPage, Store } from '../gateway/ports.ts';
import { SealBroken } from './cipher.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { openValue } from './sealed-columns.ts';
import type { Tables } from './tables.ts';

/** Deleted per transaction, so that a purge never holds up the requests for long. */
const purgeBatch = 1000;

export type NotificationStore = Pick<Store, 'save' | 'findNotification' | 'listNotifications' | 'purge'>;

export function createNotificationStore(database: Database, keyring: Keyring): NotificationStore {
  const { build } = database;

  async function open(row: Tables['notifications']): Promise<Notification> {
    const content = await openValue<NotificationContent>(keyring, 'notifications', row);
    return { id: row.id, ownerId: row.owner_id, createdAt: row.created_at, ...content };
  }

  return {
    async save({ id, ownerId, createdAt, title, body, source, category, severity, data }) {
      const content: NotificationContent = { title, body, source, category, severity, data };
      await database.append(
        { ownerId, id, createdAt, content: JSON.stringify(content) },
        await keyring.current(ownerId),
      );
    },

    async findNotification(ownerId, id) {
      const query = build.selectFrom('notifications').selectAll().where('owner_id', '=', ownerId).where('id', '=', id);
      const [row] = await database.read(query.compile());
      return row === undefined ? null : open(row);
    },

    async listNotifications(ownerId, { limit, before }) {
      let query = build.selectFrom('notifications').selectAll().where('owner_id', '=', ownerId);
      if (before !== undefined) query = query.where('id', '<', before);
      const rows = await database.read(query.orderBy('id', 'desc').limit(limit).compile());
      const page: NotificationPage = {
        notifications: [],
        damaged: [],
        next: rows.length === limit ? rows.at(-1)?.id : undefined,
      };
      for (const row of rows) {
        try {
          page.notifications.push(await open(row));
        } catch (error) {
          // One damaged row must not hide the others.
          if (!(error instanceof SealBroken)) throw error;
          page.damaged.push(row.id);
        }
      }
      return page;
    },

    async purge(before, now, signal) {
      const expired = build
        .selectFrom('used_signatures')
        .select(['owner_id', 'signature'])
        .where('expires_at', '<', now);
      const oldSignatures = sql`delete from used_signatures where (owner_id, signature) in (${expired.limit(purgeBatch)})`;
      await deleteInBatches(database, oldSignatures.compile(build), signal);
      let purged = 0;
      for await (const ownerId of ownersOfNotifications(database)) {
        if (signal?.aborted) break;
        const [owner] = await database.read(
          build.selectFrom('owners').select('id').where('id', '=', ownerId).compile(),
        );
        // Ids grow with time, so the key's own order finds what is old. Of an owner who is gone nothing stays.
        const statement = deleteNotifications(database, ownerId, owner === undefined ? null : firstIdAt(before));
        purged += await deleteInBatches(database, statement, signal);
      }
      return purged;
    },
  };
}

/** Each from the key's own order: a few look-ups instead of a walk over every row. */
async function* ownersOfNotifications({ build, read }: Database): AsyncGenerator<string> {
  for (let last = ''; ; ) {
    const next = build.selectFrom('notifications').select('owner_id').where('owner_id', '>', last);
    const [row] = await read(next.orderBy('owner_id').limit(1).compile());
    if (row === undefined) return;
    last = row.owner_id;
    yield last;
  }
}

/** Up to a batch of an owner's notifications with ids below this one; null: any. */
export function deleteNotifications({ build }: Database, ownerId: string, belowId: string | null): CompiledQuery {
  let some = build.selectFrom('notifications').select('id').where('owner_id', '=', ownerId);
  if (belowId !== null) some = some.where('id', '<', belowId);
  const batch = some.orderBy('id').limit(purgeBatch);
  return build.deleteFrom('notifications').where('owner_id', '=', ownerId).where('id', 'in', batch).compile();
}

/** Repeats a statement that deletes up to a batch until nothing is left, so that no request waits for long. */
export async function deleteInBatches(
  database: Database,
  statement: CompiledQuery,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0;
  for (let deleted = purgeBatch; deleted === purgeBatch && !signal?.aborted; total += deleted) {
    deleted = (await database.write([statement]))[0]?.changes ?? 0;
  }
  return total;
}
