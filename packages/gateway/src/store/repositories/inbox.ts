// The inbox of an owner. Notifications up to `read_through` are read, and marks record the exceptions, so that "mark all
// read" changes one row. Marks are looked up by correlated subqueries in the order of the primary key, never joined: a plan
// that first collects all notifications of an owner would be slow with a million of them.
import { type RawBuilder, sql } from 'kysely';
import { firstIdAt } from '../../core/uuid-v7.ts';
import type { InboxItem, InboxPage, InboxQuery, InboxRepository, SearchedPage } from '../../usecases/ports/inbox.ts';
import { DecryptionFailed } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { ParseContent } from '../schema/store-options.ts';
import type { Tables } from '../schema/tables.ts';
import type { SearchThread } from '../search/thread-client.ts';
import type { Keyring } from '../vault/keyring.ts';
import { createInboxMarks } from './inbox-marks.ts';
import { jsonElements } from './json-elements.ts';
import { decryptNotification } from './notifications.ts';
import { isOneOf } from './one-of.ts';
import { deleteNotifications } from './purge.ts';
import { createYielder } from './yielder.ts';

type Row = Tables['notifications'] & { is_read: number };

/** The rows of a page, and the id of the last row if there may be more. */
interface Rows {
  rows: Row[];
  last?: string;
}

/** Encrypted size of one page, which bounds the time to parse and serialize it on the main thread. */
const mostPageBytes = 4 * 1024 * 1024;

export function createInboxRepository(
  database: Database,
  keyring: Keyring,
  searchThread: SearchThread,
  parseContent: ParseContent,
): Omit<InboxRepository, 'onSaved'> {
  const { build, dialect } = database;

  async function decrypt({ is_read, ...row }: Row): Promise<InboxItem> {
    return { ...(await decryptNotification(keyring, row, parseContent)), isRead: is_read === 1 };
  }

  /** Selects rows that are not deleted. */
  function select(ownerId: string, which: RawBuilder<unknown>, limit: number): Promise<Row[]> {
    return database.read(
      sql<Row>`select n.owner_id, n.id, n.created_at, n.sealed,
          coalesce(${ofMark(sql`m.is_read`)}, case when n.id <= ${readThrough(ownerId)} then 1 else 0 end) as is_read
        from notifications as n where n.owner_id = ${ownerId} and ${which} and ${isNotMarked(sql`m.deleted_at is not null`)}
        order by n.id desc limit ${limit}`.compile(build),
    );
  }

  /** Newest first: notifications after `read_through`, then older ones that were marked unread. */
  function unreadIds(ownerId: string, before: string | undefined, limit: number): RawBuilder<{ id: string }> {
    return sql`select id from (
        select n.id as id from notifications as n
        where n.owner_id = ${ownerId} and n.id > ${readThrough(ownerId)} ${isBefore('n.id', before)}
          and ${isNotMarked(sql`m.is_read = 1 or m.deleted_at is not null`)}
        order by n.id desc limit ${limit}
      ) as newer union all select id from (
        select m.notification_id as id from inbox_marks as m
        where m.owner_id = ${ownerId} and m.is_read = 0 and m.deleted_at is null
          and m.notification_id <= ${readThrough(ownerId)} ${isBefore('m.notification_id', before)}
          and coalesce((select 1 from notifications as n where n.owner_id = m.owner_id and n.id = m.notification_id), 0) <> 0
        order by m.notification_id desc limit ${limit}
      ) as older`;
  }

  async function selectUnread(ownerId: string, { before, limit }: InboxQuery): Promise<Rows> {
    const found = sql<{ id: string }>`${unreadIds(ownerId, before, limit)} order by id desc limit ${limit}`;
    const ids = (await database.read(found.compile(build))).map(({ id }) => id);
    const last = ids.length === limit ? ids.at(-1) : undefined;
    const rows = await select(ownerId, isOneOf(dialect, 'n.id', ids), limit);
    return { rows, ...(last !== undefined && { last }) };
  }

  async function selectAll(ownerId: string, { before, limit }: InboxQuery): Promise<Rows> {
    const rows = await select(ownerId, sql`true ${isBefore('n.id', before)}`, limit);
    const last = rows.length === limit ? rows.at(-1)?.id : undefined;
    return { rows, ...(last !== undefined && { last }) };
  }

  async function selectPage(ownerId: string, query: InboxQuery): Promise<Rows> {
    return withinBytes(await (query.unreadOnly ? selectUnread(ownerId, query) : selectAll(ownerId, query)));
  }

  return {
    ...createInboxMarks(database),

    async search(ownerId, { terms, mostMatches, ...query }, signal) {
      const { rows, last } = await selectPage(ownerId, query);
      const keys = await keyring.all(ownerId);
      const outcomes = await searchThread.search(
        { ownerId, terms, keys, rows: rows.map(idAndSealed), mostMatches },
        signal,
      );
      const page: SearchedPage = {
        matches: [],
        searched: 0,
        reachedAt: undefined,
        damaged: [],
        skipped: [],
        next: last,
      };
      const yieldIfDue = createYielder();
      for (const [index, outcome] of outcomes.entries()) {
        const { id, created_at: createdAt, is_read } = rows[index] as Row;
        if (outcome.kind === 'damaged' || outcome.kind === 'skipped') {
          page[outcome.kind].push(id);
          continue;
        }
        page.searched += 1;
        page.reachedAt = createdAt;
        if (outcome.kind === 'no-match') continue;
        await yieldIfDue();
        const content = await parseContent(Buffer.from(outcome.content));
        page.matches.push({ id, ownerId, createdAt, content, isRead: is_read === 1 });
      }
      if (outcomes.length < rows.length) page.next = rows[outcomes.length - 1]?.id ?? query.before;
      return page;
    },

    async list(ownerId, query) {
      const { rows, last } = await selectPage(ownerId, query);
      const page: InboxPage = { items: [], damaged: [], next: last };
      const yieldIfDue = createYielder();
      for (const row of rows) {
        await yieldIfDue();
        try {
          page.items.push(await decrypt(row));
        } catch (error) {
          // One damaged row must not hide the others.
          if (!(error instanceof DecryptionFailed)) throw error;
          page.damaged.push(row.id);
        }
      }
      return page;
    },

    async find(ownerId, id) {
      const [row] = await select(ownerId, sql`n.id = ${id}`, 1);
      return row === undefined ? null : decrypt(row);
    },

    async countUnread(ownerId, atMost) {
      const unread = sql`${unreadIds(ownerId, undefined, atMost)} limit ${atMost}`;
      const [row] = await database.read(
        sql<{ count: number }>`select count(*) as count from (${unread}) as unread`.compile(build),
      );
      return Number(row?.count ?? 0);
    },

    async readNews(inboxes, limit) {
      if (inboxes.length === 0) return [];
      const asked = inboxes.map(({ ownerId, after }) => [ownerId, after]);
      const gather = dialect === 'postgres' ? sql`json_agg(id)` : sql`json_group_array(id)`;
      const rows = await database.read(
        sql<{ owner_id: string; generation: number; arrived: string | null }>`select asked.owner_id,
            coalesce((select s.generation from inbox_states as s where s.owner_id = asked.owner_id), 0) as generation,
            cast((select ${gather} from (
              select n.id as id from notifications as n where n.owner_id = asked.owner_id and n.id > asked.seen
              order by n.id limit ${limit}
            ) as newer) as text) as arrived
          from (select value ->> 0 as owner_id, value ->> 1 as seen from ${jsonElements(dialect, asked)}) as asked`.compile(
          build,
        ),
      );
      return rows.map(({ owner_id, generation, arrived }) => ({
        ownerId: owner_id,
        generation,
        arrived: arrived === null ? [] : (JSON.parse(arrived) as string[]),
      }));
    },

    purge: (ownerId, before, signal) => deleteNotifications(database, ownerId, firstIdAt(before), signal),
  };
}

/** At least one row, or paging would not advance. */
function withinBytes(page: Rows): Rows {
  const kept: Row[] = [];
  let bytes = 0;
  for (const row of page.rows) {
    bytes += row.sealed.length;
    if (bytes > mostPageBytes && kept.length > 0) return { rows: kept, last: (kept.at(-1) as Row).id };
    kept.push(row);
  }
  return page;
}

function idAndSealed({ id, sealed }: Row): { id: string; sealed: Uint8Array } {
  return { id, sealed };
}

function readThrough(ownerId: string): RawBuilder<string> {
  return sql`coalesce((select s.read_through from inbox_states as s where s.owner_id = ${ownerId}), '')`;
}

/** A column of the mark of the notification `n`. */
function ofMark(value: RawBuilder<unknown>): RawBuilder<number | null> {
  return sql`(select ${value} from inbox_marks as m where m.owner_id = n.owner_id and m.notification_id = n.id)`;
}

/**
 * PostgreSQL estimates that few rows satisfy `= 0` or `is null`, and then reads and sorts all of them. It estimates that most
 * rows satisfy `<> 1`, which is true, and scans the primary key until the page is full.
 */
function isNotMarked(how: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`coalesce(${ofMark(sql`case when ${how} then 1 else 0 end`)}, 0) <> 1`;
}

function isBefore(column: string, before: string | undefined): RawBuilder<unknown> {
  return before === undefined ? sql`` : sql`and ${sql.ref(column)} < ${before}`;
}
