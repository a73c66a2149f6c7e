import { type Original, stringify } from '@tocsin/contract';
import type { QueuedMessage } from '../../core/reservation.ts';
import {
  DecryptionFailed,
  type Notification,
  type NotificationPage,
  type NotificationRepository,
  type SaveOptions,
} from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { ParseContent } from '../schema/store-options.ts';
import type { Tables } from '../schema/tables.ts';
import { contextOf, decryptValue } from '../vault/encrypted-rows.ts';
import type { Keyring } from '../vault/keyring.ts';

const noMessages: readonly QueuedMessage[] = [];
const storeOnly: SaveOptions = { dispatch: null, idempotency: null, leaseUntil: 0 };

export function createNotificationRepository(
  database: Database,
  keyring: Keyring,
  parseContent: ParseContent,
): NotificationRepository {
  const { build } = database;
  const decrypt = (row: Tables['notifications']): Promise<Notification> =>
    decryptNotification(keyring, row, parseContent);

  return {
    async save({ id, ownerId, createdAt, content }, options = storeOnly) {
      const { dispatch, idempotency, leaseUntil, original, messages = noMessages, resultsIfQueued = null } = options;
      const appended = await database.append(
        {
          ownerId,
          id,
          createdAt,
          content: stringify(content),
          original: original === undefined ? null : JSON.stringify(original),
          dispatch: dispatch && JSON.stringify(dispatch),
          leaseUntil,
          idempotency,
          messages,
          resultsIfQueued: resultsIfQueued && JSON.stringify(resultsIfQueued),
        },
        await keyring.current(ownerId),
      );
      return appended === 'appended' ? 'saved' : appended;
    },

    async find(ownerId, id) {
      const query = build.selectFrom('notifications').selectAll().where('owner_id', '=', ownerId).where('id', '=', id);
      const [row] = await database.read(query.compile());
      return row === undefined ? null : decrypt(row);
    },

    async findOriginal(ownerId, id) {
      const query = build
        .selectFrom('originals')
        .select(['owner_id', 'notification_id as id', 'sealed'])
        .where('owner_id', '=', ownerId)
        .where('notification_id', '=', id);
      const [row] = await database.read(query.compile());
      return row === undefined ? null : decryptValue<Original>(keyring, 'originals', row);
    },

    async list(ownerId, { limit, before, after }) {
      let query = build.selectFrom('notifications').selectAll().where('owner_id', '=', ownerId);
      if (before !== undefined) query = query.where('id', '<', before);
      if (after !== undefined) query = query.where('id', '>', after);
      const order = after === undefined ? 'desc' : 'asc';
      const rows = await database.read(query.orderBy('id', order).limit(limit).compile());
      const page: NotificationPage = {
        notifications: [],
        damaged: [],
        next: rows.length === limit ? rows.at(-1)?.id : undefined,
      };
      for (const row of rows) {
        try {
          page.notifications.push(await decrypt(row));
        } catch (error) {
          // One damaged row must not hide the others.
          if (!(error instanceof DecryptionFailed)) throw error;
          page.damaged.push(row.id);
        }
      }
      return page;
    },
  };
}

export async function decryptNotification(
  keyring: Keyring,
  row: Tables['notifications'],
  parseContent: ParseContent,
): Promise<Notification> {
  const content = await parseContent(await keyring.decrypt(contextOf('notifications', row), row.sealed));
  return { id: row.id, ownerId: row.owner_id, createdAt: row.created_at, content };
}
