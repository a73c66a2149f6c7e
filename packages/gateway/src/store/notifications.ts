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

    async purge(before, now) {
      await database.write([build.deleteFrom('used_signatures').where('expires_at', '<', now).compile()]);
      const owners = await database.read(build.selectFrom('owners').select('id').compile());
      let purged = 0;
      for (const { id: ownerId } of owners) {
        // Ids grow with time, so the key's own order finds what is old.
        const old = build
          .selectFrom('notifications')
          .select('id')
          .where('owner_id', '=', ownerId)
          .where('id', '<', firstIdAt(before))
          .orderBy('id')
          .limit(purgeBatch);
        const statement = build
          .deleteFrom('notifications')
          .where('owner_id', '=', ownerId)
          .where('id', 'in', old)
          .compile();
        for (let deleted = purgeBatch; deleted === purgeBatch; purged += deleted) {
          deleted = (await database.write([statement]))[0]?.changes ?? 0;
        }
      }
      return purged;
    },
  };
}
