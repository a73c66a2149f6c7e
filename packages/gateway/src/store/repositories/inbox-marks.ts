// Marks on notifications: read, unread, deleted. Every change first increments the generation of the inbox, whose row lock
// serializes concurrent changes of one inbox and so avoids deadlocks.
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { InboxRepository } from '../../usecases/ports/inbox.ts';
import type { Database } from '../schema/database.ts';
import { lockOwner } from './lock-owner.ts';
import { isOneOf } from './one-of.ts';
import { purgeBatch, tablesOfNotifications } from './purge.ts';
import { skipLockedOn } from './skip-locked.ts';

type InboxMarks = Pick<
  InboxRepository,
  'markRead' | 'markAllRead' | 'undoMarkAllRead' | 'delete' | 'restore' | 'purgeDeleted'
>;

export function createInboxMarks(database: Database): InboxMarks {
  const { build, dialect } = database;

  function incrementGeneration(ownerId: string): CompiledQuery {
    return sql`insert into inbox_states (owner_id, read_through, generation)
      select id, '', 1 ${lockOwner(dialect, ownerId)}
      on conflict (owner_id) do update set generation = inbox_states.generation + 1`.compile(build);
  }

  /** Deletes marks without any content. */
  const deleteEmptyMarks = (which: RawBuilder<unknown>): CompiledQuery =>
    sql`delete from inbox_marks where ${which}
      and deleted_at is null and is_read is null and undo_is_read is null`.compile(build);
  const ofOwner = (ownerId: string, ids: readonly string[]) =>
    sql<boolean>`owner_id = ${ownerId} and ${isOneOf(dialect, 'notification_id', ids)}`;
  const stored = (ownerId: string, ids: readonly string[]) =>
    sql`from notifications where owner_id = ${ownerId} and ${isOneOf(dialect, 'id', ids)}`;

  return {
    async markRead(ownerId, ids, isRead) {
      if (ids.length === 0) return;
      await database.write([
        incrementGeneration(ownerId),
        sql`insert into inbox_marks (owner_id, notification_id, is_read)
          select owner_id, id, ${sql.lit(isRead ? 1 : 0)} ${stored(ownerId, ids)}
          on conflict (owner_id, notification_id) do update set is_read = excluded.is_read`.compile(build),
      ]);
    },

    async markAllRead(ownerId, through) {
      // An unknown id has no effect.
      const exists = sql<boolean>`exists (select 1 ${stored(ownerId, [through])})`;
      const older = sql<boolean>`owner_id = ${ownerId} and notification_id <= ${through} and ${exists}`;
      // A repeated request has nothing to mark, and must not replace the undo state of the first one.
      const marksSome = sql<boolean>`${exists} and (
        exists (select 1 from inbox_states as s where s.owner_id = ${ownerId} and s.read_through < ${through})
        or exists (
          select 1 from inbox_marks as m
          where m.owner_id = ${ownerId} and m.notification_id <= ${through} and m.is_read = ${sql.lit(0)}
        )
      )`;
      await database.write([
        incrementGeneration(ownerId),
        // Only the last change can be undone.
        build
          .updateTable('inbox_marks')
          .set({ undo_is_read: null })
          .where('owner_id', '=', ownerId)
          .where('undo_is_read', 'is not', null)
          .where(marksSome)
          .compile(),
        deleteEmptyMarks(sql`owner_id = ${ownerId}`),
        sql`update inbox_states set undo_read_through = read_through, undo_through = ${through},
            read_through = case when read_through < ${through} then ${through} else read_through end
          where owner_id = ${ownerId} and ${marksSome}`.compile(build),
        // If there was nothing to mark, these are read already, and an undo leaves them read.
        sql`update inbox_marks set undo_is_read = is_read, is_read = null where ${older} and is_read is not null`.compile(
          build,
        ),
      ]);
    },

    async undoMarkAllRead(ownerId, through) {
      const isLast = sql<boolean>`exists (
        select 1 from inbox_states as s where s.owner_id = ${ownerId} and s.undo_through = ${through}
      )`;
      const [, , undone] = await database.write([
        incrementGeneration(ownerId),
        // A mark that was set since then is kept.
        sql`update inbox_marks set is_read = coalesce(is_read, undo_is_read), undo_is_read = null
          where owner_id = ${ownerId} and undo_is_read is not null and ${isLast}`.compile(build),
        sql`update inbox_states set read_through = undo_read_through, undo_read_through = null, undo_through = null
          where owner_id = ${ownerId} and undo_through = ${through}`.compile(build),
      ]);
      return undone?.changes === 1;
    },

    async delete(ownerId, ids, at) {
      if (ids.length === 0) return 0;
      const [, deleted] = await database.write([
        incrementGeneration(ownerId),
        sql`insert into inbox_marks (owner_id, notification_id, deleted_at)
          select owner_id, id, cast(${at} as bigint) ${stored(ownerId, ids)}
          on conflict (owner_id, notification_id) do update set deleted_at = excluded.deleted_at
          where inbox_marks.deleted_at is null`.compile(build),
      ]);
      return deleted?.changes ?? 0;
    },

    async restore(ownerId, ids) {
      if (ids.length === 0) return 0;
      const isOf = ofOwner(ownerId, ids);
      const [, restored] = await database.write([
        incrementGeneration(ownerId),
        build
          .updateTable('inbox_marks')
          .set({ deleted_at: null })
          .where(isOf)
          .where('deleted_at', 'is not', null)
          .compile(),
        deleteEmptyMarks(isOf),
      ]);
      return restored?.changes ?? 0;
    },

    async purgeDeleted(before, signal) {
      // Within the transaction, 0 marks the rows to purge: a concurrent restore waits for the lock, and then finds none.
      const purged = sql`select owner_id, notification_id from inbox_marks where deleted_at = ${sql.lit(0)}`;
      const deletePurged = (table: string, column: string): CompiledQuery =>
        sql`delete from ${sql.table(table)} where (owner_id, ${sql.ref(column)}) in (${purged})`.compile(build);
      const batch = [
        sql`update inbox_marks set deleted_at = ${sql.lit(0)} where (owner_id, notification_id) in (
          select owner_id, notification_id from inbox_marks where deleted_at < ${before}
          order by deleted_at limit ${purgeBatch} ${skipLockedOn(dialect)}
        )`.compile(build),
        deletePurged('notifications', 'id'),
        ...tablesOfNotifications.map((table) => deletePurged(table, 'notification_id')),
        build.deleteFrom('inbox_marks').where('deleted_at', '=', sql.lit(0)).compile(),
      ];
      let total = 0;
      for (let claimed = purgeBatch; claimed >= purgeBatch && !signal?.aborted; ) {
        const [marked, deleted] = await database.write(batch);
        claimed = marked?.changes ?? 0;
        total += deleted?.changes ?? 0;
      }
      return total;
    },
  };
}
