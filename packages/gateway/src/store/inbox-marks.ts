// The marks on notifications: read, unread, deleted. Every change counts the generation of the inbox up, first of all: so
// two changes of one inbox follow each other instead of waiting for each other's rows.
import { type CompiledQuery, sql } from 'kysely';
import type { InboxStore } from '../gateway/ports/inbox.ts';
import type { Database } from './database.ts';
import { purgeBatch } from './notifications.ts';
import { isOneOf } from './one-of.ts';
import { livingOwner } from './owners.ts';
import { skipLockedOn } from './skip-locked.ts';

type InboxMarks = Pick<InboxStore, 'markRead' | 'markAllRead' | 'deleteFromInbox' | 'restoreToInbox' | 'purgeDeleted'>;

export function createInboxMarks(database: Database): InboxMarks {
  const { build, dialect } = database;

  function countUp(ownerId: string): CompiledQuery {
    return sql`insert into inbox_states (owner_id, read_through, generation)
      select id, '', 1 ${livingOwner(dialect, ownerId)}
      on conflict (owner_id) do update set generation = inbox_states.generation + 1`.compile(build);
  }

  const ofOwner = (ownerId: string, ids: readonly string[]) =>
    sql<boolean>`owner_id = ${ownerId} and ${isOneOf(dialect, 'notification_id', ids)}`;
  const stored = (ownerId: string, ids: readonly string[]) =>
    sql`from notifications where owner_id = ${ownerId} and ${isOneOf(dialect, 'id', ids)}`;

  return {
    async markRead(ownerId, ids, isRead) {
      if (ids.length === 0) return;
      await database.write([
        countUp(ownerId),
        sql`insert into inbox_marks (owner_id, notification_id, is_read)
          select owner_id, id, ${sql.lit(isRead ? 1 : 0)} ${stored(ownerId, ids)}
          on conflict (owner_id, notification_id) do update set is_read = excluded.is_read`.compile(build),
      ]);
    },

    async markAllRead(ownerId, through) {
      // What is not there moves nothing.
      const exists = sql<boolean>`exists (select 1 ${stored(ownerId, [through])})`;
      const older = sql<boolean>`owner_id = ${ownerId} and notification_id <= ${through} and ${exists}`;
      await database.write([
        countUp(ownerId),
        build
          .updateTable('inbox_states')
          .set({ read_through: through })
          .where('owner_id', '=', ownerId)
          .where('read_through', '<', through)
          .where(exists)
          .compile(),
        build.deleteFrom('inbox_marks').where(older).where('deleted_at', 'is', null).compile(),
        build.updateTable('inbox_marks').set({ is_read: null }).where(older).where('is_read', 'is not', null).compile(),
      ]);
    },

    async deleteFromInbox(ownerId, ids, at) {
      if (ids.length === 0) return 0;
      const [, deleted] = await database.write([
        countUp(ownerId),
        sql`insert into inbox_marks (owner_id, notification_id, deleted_at)
          select owner_id, id, cast(${at} as bigint) ${stored(ownerId, ids)}
          on conflict (owner_id, notification_id) do update set deleted_at = excluded.deleted_at
          where inbox_marks.deleted_at is null`.compile(build),
      ]);
      return deleted?.changes ?? 0;
    },

    async restoreToInbox(ownerId, ids) {
      if (ids.length === 0) return 0;
      const isOf = ofOwner(ownerId, ids);
      const [, restored] = await database.write([
        countUp(ownerId),
        build
          .updateTable('inbox_marks')
          .set({ deleted_at: null })
          .where(isOf)
          .where('deleted_at', 'is not', null)
          .compile(),
        build
          .deleteFrom('inbox_marks')
          .where(isOf)
          .where('deleted_at', 'is', null)
          .where('is_read', 'is', null)
          .compile(),
      ]);
      return restored?.changes ?? 0;
    },

    async purgeDeleted(before, signal) {
      // Within the transaction, 0 stands for what goes: whoever restores one of them waits, and then finds nothing.
      const doomed = sql`select owner_id, notification_id from inbox_marks where deleted_at = ${sql.lit(0)}`;
      const deleteDoomed = (table: string, column: string): CompiledQuery =>
        sql`delete from ${sql.table(table)} where (owner_id, ${sql.ref(column)}) in (${doomed})`.compile(build);
      const batch = [
        sql`update inbox_marks set deleted_at = ${sql.lit(0)} where (owner_id, notification_id) in (
          select owner_id, notification_id from inbox_marks where deleted_at < ${before}
          order by deleted_at limit ${purgeBatch} ${skipLockedOn(dialect)}
        )`.compile(build),
        deleteDoomed('deliveries', 'notification_id'),
        deleteDoomed('dispatches', 'notification_id'),
        deleteDoomed('notifications', 'id'),
        build.deleteFrom('inbox_marks').where('deleted_at', '=', sql.lit(0)).compile(),
      ];
      let total = 0;
      for (let claimed = purgeBatch; claimed >= purgeBatch && !signal?.aborted; ) {
        const [marked, , , deleted] = await database.write(batch);
        claimed = marked?.changes ?? 0;
        total += deleted?.changes ?? 0;
      }
      return total;
    },
  };
}
