// Queues of waiting deliveries, one per target, in the table `delivery_lanes`. One process at a time holds a queue, so that
// the deliveries to a target are sent in order and once, regardless of the number of processes.
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { latestAttemptMs } from '../../core/backoff.ts';
import { clockSkewMs, latestLeaseEnd } from '../../core/lease.ts';
import type {
  ChannelName,
  Delivery,
  TargetQueue,
  TargetQueueName,
  TargetQueueRepository,
} from '../../usecases/ports/index.ts';
import type { Database, Dialect } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { type DeliveryRow, type DeliveryRows, isOfQueue, mayBeAttempted } from './delivery-rows.ts';
import { skipLockedOn } from './skip-locked.ts';

/** Casts for selected parameters, which PostgreSQL would treat as text. */
const columnTypes: Record<Dialect, Partial<Record<keyof DeliveryRow, string>>> = {
  sqlite: { attempts: 'integer', qos: 'integer', sealed: 'blob', ...times('integer') },
  postgres: { attempts: 'integer', qos: 'integer', sealed: 'bytea', ...times('bigint') },
};

function times(type: string): Partial<Record<keyof DeliveryRow, string>> {
  return { created_at: type, next_at: type, not_before: type, expires_at: type, ended_at: type };
}

export function createTargetQueueRepository(
  database: Database,
  { toRow, toDelivery }: DeliveryRows,
): TargetQueueRepository {
  const { build, dialect } = database;
  const skipLocked = skipLockedOn(dialect);
  const isHeld = (queue: TargetQueue, version: number) =>
    sql<boolean>`${isOfQueue(queue)} and version = ${version} and lease_until = ${queue.leaseUntil}`;

  /** Updates the queue first, which locks it against deletion by its holder. */
  async function join(delivery: Delivery, now: number, insist: boolean): Promise<CompiledQuery[]> {
    const row = await toRow(delivery);
    const columns = Object.keys(row) as (keyof DeliveryRow)[];
    const values = columns.map(
      (column) => sql`cast(${row[column]} as ${sql.raw(columnTypes[dialect][column] ?? 'text')})`,
    );
    return [
      build
        .updateTable('delivery_lanes')
        .set({
          closing: insist ? 0 : sql<number>`closing`,
          // Without a change of the version if nothing can join, so that the holder can release the queue.
          version: insist ? sql<number>`version + 1` : sql<number>`version + 1 - closing`,
          next_at: sql<number>`case when next_at < ${delivery.nextAt} then next_at else ${delivery.nextAt} end`,
        })
        .where(isOfQueue(delivery))
        .returning('closing')
        .compile(),
      sql`insert into deliveries (${sql.join(columns.map((column) => sql.ref(column)))}) select ${sql.join(values)}
        where exists (select 1 from delivery_lanes where ${isOfQueue(delivery)} and closing = 0)
          and exists (select 1 from deliveries where ${isOfQueue(delivery)} and ${mayBeAttempted(now)})
          on conflict do nothing`.compile(build),
    ];
  }

  async function hasWaiting(queue: TargetQueueName, now: number): Promise<boolean> {
    const found = sql<{ owner_id: string }>`select owner_id from deliveries
      where ${isOfQueue(queue)} and ${mayBeAttempted(now)} limit 1`;
    return (await database.read(found.compile(build))).length > 0;
  }

  async function release(queue: TargetQueue, version: number, nextAt: number | null): Promise<boolean> {
    const [released] = await database.write([
      nextAt === null
        ? build.deleteFrom('delivery_lanes').where(isHeld(queue, version)).compile()
        : build
            .updateTable('delivery_lanes')
            .set({ next_at: nextAt, lease_until: 0, closing: 0 })
            .where(isHeld(queue, version))
            .compile(),
    ]);
    return released?.changes === 1;
  }

  return {
    async claim(now, leaseUntil, limit) {
      const due = build.selectFrom('delivery_lanes').select('owner_id');
      // A lease that a clock running ahead has set is ignored, together with the time of the next attempt.
      const isAhead = sql<boolean>`lease_until > ${latestLeaseEnd(now)}`;
      const isDue = sql<boolean>`((next_at <= ${now} and lease_until <= ${now}) or ${isAhead})`;
      if ((await database.read(due.where(isDue).limit(1).compile())).length === 0) return [];
      const [claimed] = await database.write([
        sql`update delivery_lanes set lease_until = ${leaseUntil}, next_at = ${leaseUntil}, closing = 0
        where (owner_id, channel, target) in (
          select owner_id, channel, target from delivery_lanes where ${isDue}
          order by next_at limit ${limit} ${skipLocked}
        ) returning owner_id, channel, target`.compile(build),
      ]);
      return ((claimed?.rows ?? []) as Pick<Tables['delivery_lanes'], 'owner_id' | 'channel' | 'target'>[]).map(
        (row) => ({ ownerId: row.owner_id, channel: row.channel as ChannelName, target: row.target, leaseUntil }),
      );
    },

    async extend(queue, leaseUntil, isClosing = false) {
      const [extended] = await database.write([
        build
          .updateTable('delivery_lanes')
          .set({
            lease_until: leaseUntil,
            closing: isClosing ? 1 : 0,
            // A queue that was woken stays due.
            next_at: sql<number>`case when next_at < lease_until then next_at else ${leaseUntil} end`,
          })
          .where(isOfQueue(queue))
          .where('lease_until', '=', queue.leaseUntil)
          .compile(),
      ]);
      return extended?.changes === 1 ? { ...queue, leaseUntil } : null;
    },

    async release(queue, { at, ifNothingSince } = {}) {
      const held = build
        .selectFrom('delivery_lanes')
        .where(isOfQueue(queue))
        .where('lease_until', '=', queue.leaseUntil);
      const waiting = build.selectFrom('deliveries').where(isOfQueue(queue)).where('next_at', 'is not', null);
      const state = held.select([
        'version',
        'next_at',
        waiting
          .select((eb) => eb.fn.min('next_at').as('next_at'))
          .$asScalar()
          .as('first'),
      ]);
      // A delivery that joins between read and release changes the version; then the queue is read again.
      for (;;) {
        const [found] = await database.read(state.compile());
        if (found === undefined) return true;
        if (ifNothingSince !== undefined && found.first !== null && (await hasWaiting(queue, ifNothingSince)))
          return false;
        const isWoken = found.next_at < queue.leaseUntil;
        const first = found.first as number | null;
        const due = Math.min(at ?? first ?? 0, isWoken ? found.next_at : Number.MAX_SAFE_INTEGER);
        if (await release(queue, found.version, first === null ? null : due)) return true;
      }
    },

    async postponeDue(queue, now, { delaysMs, minAttempts, notBefore }) {
      const waiting = build.updateTable('deliveries').where(isOfQueue(queue)).where('next_at', 'is not', null);
      const due = waiting.where('next_at', '<=', now);
      const isExpired = sql<boolean>`expires_at <= ${now} and (attempts + 1 >= ${minAttempts} or expires_at <= created_at)`;
      // The last delay is used for all further attempts.
      const delay = sql<number>`case ${sql.join(
        delaysMs.slice(0, -1).map((ms, attempts) => sql`when attempts = ${sql.lit(attempts)} then ${sql.lit(ms)}`),
        sql` `,
      )} else ${sql.lit(delaysMs.at(-1) ?? 0)} end`;
      // Expired deliveries without the minimum number of attempts follow the schedule.
      const beforeEnd = (attemptAt: RawBuilder<number>) =>
        sql<number>`case when expires_at > ${now} and expires_at < ${attemptAt} then expires_at else ${attemptAt} end`;
      const [dead] = await database.write([
        due
          .where(isExpired)
          .set({ state: 'dead', attempts: sql<number>`attempts + 1`, next_at: null, ended_at: now })
          .returningAll()
          .compile(),
        due
          .set({
            attempts: sql<number>`attempts + 1`,
            next_at: beforeEnd(sql<number>`cast(${now} as bigint) + ${delay}`),
          })
          .compile(),
        waiting
          .where('next_at', '<', notBefore)
          .set({ next_at: beforeEnd(sql<number>`cast(${notBefore} as bigint)`) })
          .compile(),
      ]);
      return Promise.all(((dead?.rows ?? []) as DeliveryRow[]).map(toDelivery));
    },

    async expireLeases(now) {
      await database.write([
        build
          .updateTable('delivery_lanes')
          .set({ lease_until: 0, closing: 0, next_at: now, version: sql<number>`version + 1` })
          .where('lease_until', '>', 0)
          .compile(),
        // The outcome of the request is known from its dispatch.
        build
          .updateTable('idempotency')
          .set({ lease_until: 0 })
          .where('sealed', 'is', null)
          .where('lease_until', '>', 0)
          .compile(),
      ]);
    },

    async deadLetter(queue, now) {
      await database.write([
        build
          .updateTable('deliveries')
          .set({ state: 'dead', next_at: null, ended_at: now })
          .where(isOfQueue(queue))
          .where('next_at', 'is not', null)
          .compile(),
      ]);
    },

    async wake(channel, now) {
      const waiting = build.selectFrom('delivery_lanes').select('owner_id').where('channel', '=', channel);
      if ((await database.read(waiting.where('next_at', '>', now).limit(1).compile())).length === 0) return 0;
      const [woken] = await database.write([
        build
          .updateTable('delivery_lanes')
          // A held queue may be in an attempt that began too early: it is due again.
          .set({ next_at: now, version: sql<number>`version + 1` })
          .where('channel', '=', channel)
          .where('next_at', '>', now)
          .compile(),
      ]);
      return woken?.changes ?? 0;
    },

    async resetTimesAhead(now, { wasSetBack = false } = {}) {
      const latest = now + latestAttemptMs + clockSkewMs;
      const wasCreatedAhead = sql<boolean>`created_at > ${now + clockSkewMs}`;
      // A delivery that its provider delayed has both times equal. Any other is hidden until the clock reaches `not_before`.
      const isHidden = sql<boolean>`not_before > ${now + clockSkewMs} and not_before < next_at`;
      const isAhead = sql<boolean>`next_at is not null and (${wasCreatedAhead} or next_at > ${latest}
        or not_before > ${latest} ${wasSetBack ? sql`or (${isHidden})` : sql``})`;
      const isQueueAhead = sql<boolean>`next_at > ${wasSetBack ? now + clockSkewMs : latest}`;
      const found = build.selectFrom('deliveries').select('owner_id').where(isAhead).limit(1);
      const queues = build.selectFrom('delivery_lanes').select('owner_id').where(isQueueAhead).limit(1);
      const ahead = await Promise.all([database.read(found.compile()), database.read(queues.compile())]);
      if (ahead.flat().length === 0) return;
      await database.write([
        sql`update delivery_lanes set next_at = ${now}, version = version + 1
          where ${isQueueAhead}
            or (owner_id, channel, target) in (select owner_id, channel, target from deliveries where ${isAhead})
        `.compile(build),
        build
          .updateTable('deliveries')
          .set({
            created_at: sql<number>`case when ${wasCreatedAhead} then ${now} else created_at end`,
            next_at: now,
            not_before: now,
            // A delivery with a single attempt still has one.
            expires_at: sql<number>`case when expires_at <= created_at then ${now} else expires_at end`,
          })
          .where(isAhead)
          .compile(),
      ]);
    },

    async join(delivery, now, insist) {
      const [queue, inserted] = await database.write(await join(delivery, now, insist));
      if (inserted?.changes === 1) return 'joined';
      const [found] = (queue?.rows ?? []) as { closing: number }[];
      return found?.closing === 1 ? 'closing' : 'none';
    },

    async isClosing(queue) {
      const found = build
        .selectFrom('delivery_lanes')
        .select('closing')
        .where(isOfQueue(queue))
        .where('closing', '=', 1);
      return (await database.read(found.compile())).length > 0;
    },

    hasWaiting,

    async list(now) {
      const rows = await database.read(
        sql<Pick<DeliveryRow, 'owner_id' | 'channel' | 'target'>>`select owner_id, channel, target from delivery_lanes
          where exists (
            select 1 from deliveries where deliveries.owner_id = delivery_lanes.owner_id
              and deliveries.channel = delivery_lanes.channel and deliveries.target = delivery_lanes.target
              and deliveries.next_at is not null and deliveries.not_before <= ${now}
          )`.compile(build),
      );
      return rows.map((row) => ({
        ownerId: row.owner_id,
        channel: row.channel as ChannelName,
        target: row.target,
      }));
    },
  };
}
