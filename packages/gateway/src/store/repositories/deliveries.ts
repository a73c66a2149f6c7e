// Deliveries that wait, and the lanes they wait in. A lane is held by one process at a time, so that what waits for one
// target goes out in order, once, however many processes there are.
import type { Qos } from '@tocsin/contract';
import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { latestTurnMs } from '../../core/backoff.ts';
import { clockSkewMs, latestLeaseEnd } from '../../core/lease.ts';
import {
  type ChannelName,
  type Delivery,
  type DeliveryStore,
  type DispatchToSettle,
  type Lane,
  type LaneName,
  SealBroken,
} from '../../usecases/ports/index.ts';
import type { Database, Dialect } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import { type Place, seal } from '../vault/cipher.ts';
import type { Keyring } from '../vault/keyring.ts';
import { skipLockedOn } from './skip-locked.ts';

type Row = Tables['deliveries'];

const dayMs = 86_400_000;

/** For values that are selected: PostgreSQL would take all of them for text. */
const columnTypes: Record<Dialect, Partial<Record<keyof Row, string>>> = {
  sqlite: { attempts: 'integer', qos: 'integer', sealed: 'blob', ...times('integer') },
  postgres: { attempts: 'integer', qos: 'integer', sealed: 'bytea', ...times('bigint') },
};

function times(type: string): Partial<Record<keyof Row, string>> {
  return { created_at: type, next_at: type, not_before: type, expires_at: type, ended_at: type };
}

export interface Deliveries {
  store: Omit<DeliveryStore, 'settleDispatches' | 'claimDispatches' | 'findDispatch'>;
  /** What puts deliveries in and opens their lanes, for a transaction of the caller's. */
  keep(settled: readonly Pick<DispatchToSettle, 'failed' | 'sending'>[]): Promise<CompiledQuery[]>;
  /** What makes deliveries dead that count as sent, for a transaction of the caller's. */
  keepDead(dead: readonly Delivery[]): Promise<CompiledQuery[]>;
}

export function createDeliveryStore(database: Database, keyring: Keyring): Deliveries {
  const { build, dialect } = database;

  async function toRow(delivery: Delivery): Promise<Row> {
    const { ownerId, error } = delivery;
    return {
      owner_id: ownerId,
      notification_id: delivery.notificationId,
      channel: delivery.channel,
      target: delivery.target,
      state: delivery.state,
      attempts: delivery.attempts,
      qos: delivery.qos,
      created_at: delivery.createdAt,
      next_at: delivery.nextAt,
      not_before: delivery.notBefore,
      expires_at: delivery.expiresAt,
      ended_at: delivery.endedAt,
      sealed: seal(await keyring.current(ownerId), placeOf(delivery), JSON.stringify({ error })),
    };
  }

  async function toDelivery(row: Row): Promise<Delivery> {
    const delivery = {
      ownerId: row.owner_id,
      notificationId: row.notification_id,
      channel: row.channel as ChannelName,
      target: row.target,
      state: row.state as Delivery['state'],
      attempts: row.attempts,
      qos: row.qos as Qos,
      createdAt: row.created_at,
      nextAt: row.next_at,
      notBefore: row.not_before,
      expiresAt: row.expires_at,
      endedAt: row.ended_at,
    };
    return { ...delivery, error: await openError(delivery, row.sealed) };
  }

  /** One that was altered hides no more than itself: what waits is still sent. */
  async function openError(delivery: Parameters<typeof placeOf>[0], sealed: Uint8Array): Promise<string> {
    try {
      const opened = await keyring.unseal(placeOf(delivery), sealed);
      return (JSON.parse(opened.toString('utf8')) as { error: string }).error;
    } catch (error) {
      if (error instanceof SealBroken) return 'The last error does not open: its row was altered';
      throw error;
    }
  }

  /** A lane is there as long as something waits in it, and counts what was put in. */
  function openLane({ ownerId, channel, target }: LaneName, nextAt: number, leaseUntil = 0): CompiledQuery {
    const lane = {
      owner_id: ownerId,
      channel,
      target,
      next_at: nextAt,
      version: 1,
      lease_until: leaseUntil,
      closing: 0,
    };
    return build
      .insertInto('delivery_lanes')
      .values(lane)
      .onConflict((conflict) =>
        conflict.columns(['owner_id', 'channel', 'target']).doUpdateSet({
          next_at: sql<number>`case when delivery_lanes.next_at < ${nextAt} then delivery_lanes.next_at else ${nextAt} end`,
          version: sql<number>`delivery_lanes.version + 1`,
        }),
      )
      .compile();
  }

  /** Nothing is kept for an owner that another process has deleted in the meantime. */
  function dropOrphans(ownerId: string): CompiledQuery[] {
    const isGone = sql<boolean>`owner_id = ${ownerId} and not exists (select 1 from owners where id = ${ownerId})`;
    return (['deliveries', 'delivery_lanes'] as const).map((table) => build.deleteFrom(table).where(isGone).compile());
  }

  /** Lanes are opened in one order everywhere, so that two processes cannot wait for each other. */
  function openLanes(deliveries: readonly Delivery[], leaseUntil = 0): CompiledQuery[] {
    const earliest = new Map<string, { lane: LaneName; nextAt: number }>();
    for (const delivery of deliveries) {
      if (delivery.nextAt === null) continue;
      const name = laneId(delivery);
      const known = earliest.get(name);
      earliest.set(name, { lane: delivery, nextAt: Math.min(delivery.nextAt, known?.nextAt ?? delivery.nextAt) });
    }
    return [...earliest]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { lane, nextAt }]) => openLane(lane, nextAt, leaseUntil));
  }

  const ofDelivery = (delivery: Pick<Delivery, keyof LaneName | 'notificationId'>) =>
    sql<boolean>`owner_id = ${delivery.ownerId} and notification_id = ${delivery.notificationId}
      and channel = ${delivery.channel} and target = ${delivery.target}`;
  const isHeld = (lane: Lane, version: number) =>
    sql<boolean>`${ofLane(lane)} and version = ${version} and lease_until = ${lane.leaseUntil}`;
  const ofLane = ({ ownerId, channel, target }: LaneName) =>
    sql<boolean>`owner_id = ${ownerId} and channel = ${channel} and target = ${target}`;
  const mayBeTried = (now: number) => sql<boolean>`next_at is not null and not_before <= ${now}`;
  const isQueue = (lane: LaneName, now: number) =>
    sql<boolean>`exists (select 1 from deliveries where ${ofLane(lane)} and ${mayBeTried(now)})`;
  const skipLocked = skipLockedOn(dialect);

  /** The lane is changed first, which locks it: whoever holds it cannot end it meanwhile. */
  async function join(delivery: Delivery, now: number, insist: boolean): Promise<CompiledQuery[]> {
    const row = await toRow(delivery);
    const columns = Object.keys(row) as (keyof Row)[];
    const values = columns.map(
      (column) => sql`cast(${row[column]} as ${sql.raw(columnTypes[dialect][column] ?? 'text')})`,
    );
    return [
      build
        .updateTable('delivery_lanes')
        .set({
          closing: insist ? 0 : sql<number>`closing`,
          // Where nothing joins the holder is not disturbed.
          version: insist ? sql<number>`version + 1` : sql<number>`version + 1 - closing`,
          next_at: sql<number>`case when next_at < ${delivery.nextAt} then next_at else ${delivery.nextAt} end`,
        })
        .where(ofLane(delivery))
        .returning('closing')
        .compile(),
      sql`insert into deliveries (${sql.join(columns.map((column) => sql.ref(column)))}) select ${sql.join(values)}
        where exists (select 1 from delivery_lanes where ${ofLane(delivery)} and closing = 0)
          and ${isQueue(delivery, now)} on conflict do nothing`.compile(build),
    ];
  }

  return {
    async keep(settled) {
      const failed = settled.flatMap((each) => each.failed);
      const sending = settled.flatMap((each) => (each.sending === undefined ? [] : [each.sending]));
      const all = [...failed, ...sending.flatMap(({ deliveries }) => deliveries)];
      const queries: CompiledQuery[] = [];
      for (const delivery of all) {
        const insert = build.insertInto('deliveries').values(await toRow(delivery));
        queries.push(insert.onConflict((conflict) => conflict.doNothing()).compile());
      }
      queries.push(...openLanes(failed));
      for (const { deliveries, leaseUntil } of sending) queries.push(...openLanes(deliveries, leaseUntil));
      for (const ownerId of new Set(all.map((delivery) => delivery.ownerId))) queries.push(...dropOrphans(ownerId));
      return queries;
    },

    async keepDead(dead) {
      const rows = await Promise.all(dead.map(toRow));
      return [
        ...rows.map((row) =>
          build
            .insertInto('deliveries')
            .values(row)
            .onConflict((conflict) =>
              conflict.columns(['owner_id', 'notification_id', 'channel', 'target']).doUpdateSet(row),
            )
            .compile(),
        ),
        ...[...new Set(dead.map(({ ownerId }) => ownerId))].flatMap(dropOrphans),
      ];
    },

    store: {
      async claimLanes(now, leaseUntil, limit) {
        const due = build.selectFrom('delivery_lanes').select('owner_id');
        // The lease of a clock that ran ahead is over, and so is the turn that it was given together with it.
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

      async extendLane(lane, leaseUntil, isClosing = false) {
        const [extended] = await database.write([
          build
            .updateTable('delivery_lanes')
            .set({
              lease_until: leaseUntil,
              closing: isClosing ? 1 : 0,
              // One that was hastened stays so.
              next_at: sql<number>`case when next_at < lease_until then next_at else ${leaseUntil} end`,
            })
            .where(ofLane(lane))
            .where('lease_until', '=', lane.leaseUntil)
            .compile(),
        ]);
        return extended?.changes === 1 ? { ...lane, leaseUntil } : null;
      },

      async releaseLane(lane, { at, ifNothingSince } = {}) {
        const held = build.selectFrom('delivery_lanes').where(ofLane(lane)).where('lease_until', '=', lane.leaseUntil);
        const waiting = build.selectFrom('deliveries').where(ofLane(lane)).where('next_at', 'is not', null);
        const look = held.select([
          'version',
          'next_at',
          waiting
            .select((eb) => eb.fn.min('next_at').as('next_at'))
            .$asScalar()
            .as('first'),
        ]);
        // What is put in between the look and the release moves the version, and then it is looked at again.
        for (;;) {
          const [found] = await database.read(look.compile());
          if (found === undefined) return true;
          if (ifNothingSince !== undefined && found.first !== null && (await hasQueue(lane, ifNothingSince)))
            return false;
          const isHastened = found.next_at < lane.leaseUntil;
          const first = found.first as number | null;
          const due = Math.min(at ?? first ?? 0, isHastened ? found.next_at : Number.MAX_SAFE_INTEGER);
          if (await release(lane, found.version, first === null ? null : due)) return true;
        }
      },

      async listWaiting(lane, { now, limit, after = '' }) {
        const query = build
          .selectFrom('deliveries')
          .selectAll()
          .where(ofLane(lane))
          .where(mayBeTried(now))
          .where('notification_id', '>', after);
        return Promise.all(
          (await database.read(query.orderBy('notification_id').limit(limit).compile())).map(toDelivery),
        );
      },

      async updateDeliveries(deliveries) {
        if (deliveries.length === 0) return;
        const rows = await Promise.all(deliveries.map(toRow));
        await database.write(
          rows.map(({ state, attempts, next_at, not_before, ended_at, sealed }, index) =>
            build
              .updateTable('deliveries')
              .set({ state, attempts, next_at, not_before, ended_at, sealed })
              .where(ofDelivery(deliveries[index] as Delivery))
              // What an owner dropped meanwhile, or what ended elsewhere, stays so.
              .where('next_at', 'is not', null)
              .compile(),
          ),
        );
      },

      async postponeDue(lane, now, { delaysMs, minTurns, notBefore }) {
        const waiting = build.updateTable('deliveries').where(ofLane(lane)).where('next_at', 'is not', null);
        const due = waiting.where('next_at', '<=', now);
        const isTooOld = sql<boolean>`expires_at <= ${now} and (attempts + 1 >= ${minTurns} or expires_at <= created_at)`;
        // The last of the delays goes on for the rest.
        const delay = sql<number>`case ${sql.join(
          delaysMs.slice(0, -1).map((ms, attempts) => sql`when attempts = ${sql.lit(attempts)} then ${sql.lit(ms)}`),
          sql` `,
        )} else ${sql.lit(delaysMs.at(-1) ?? 0)} end`;
        // What has expired and has not had its turns goes on by the schedule.
        const beforeEnd = (turn: RawBuilder<number>) =>
          sql<number>`case when expires_at > ${now} and expires_at < ${turn} then expires_at else ${turn} end`;
        const [givenUp] = await database.write([
          due
            .where(isTooOld)
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
        return Promise.all(((givenUp?.rows ?? []) as Row[]).map(toDelivery));
      },

      async endLeases(now) {
        await database.write([
          build
            .updateTable('delivery_lanes')
            .set({ lease_until: 0, closing: 0, next_at: now, version: sql<number>`version + 1` })
            .where('lease_until', '>', 0)
            .compile(),
          // What became of the request is known already, from its dispatch.
          build
            .updateTable('idempotency')
            .set({ lease_until: 0 })
            .where('sealed', 'is', null)
            .where('lease_until', '>', 0)
            .compile(),
        ]);
      },

      async endLane(lane, now) {
        await database.write([
          build
            .updateTable('deliveries')
            .set({ state: 'dead', next_at: null, ended_at: now })
            .where(ofLane(lane))
            .where('next_at', 'is not', null)
            .compile(),
        ]);
      },

      async hastenLanes(channel, now) {
        const waiting = build.selectFrom('delivery_lanes').select('owner_id').where('channel', '=', channel);
        if ((await database.read(waiting.where('next_at', '>', now).limit(1).compile())).length === 0) return 0;
        const [hastened] = await database.write([
          build
            .updateTable('delivery_lanes')
            // One that is held is being tried at this moment, perhaps too early: it moves on once more.
            .set({ next_at: now, version: sql<number>`version + 1` })
            .where('channel', '=', channel)
            .where('next_at', '>', now)
            .compile(),
        ]);
        return hastened?.changes ?? 0;
      },

      async resetTimesAhead(now, { wasSetBack = false } = {}) {
        const latest = now + latestTurnMs + clockSkewMs;
        const wasPutInAhead = sql<boolean>`created_at > ${now + clockSkewMs}`;
        // What waits for its turn alone has both times equal. The others may be tried any time, once the clock is there.
        const isHidden = sql<boolean>`not_before > ${now + clockSkewMs} and not_before < next_at`;
        const isAhead = sql<boolean>`next_at is not null and (${wasPutInAhead} or next_at > ${latest}
          or not_before > ${latest} ${wasSetBack ? sql`or (${isHidden})` : sql``})`;
        const isLaneAhead = sql<boolean>`next_at > ${wasSetBack ? now + clockSkewMs : latest}`;
        const found = build.selectFrom('deliveries').select('owner_id').where(isAhead).limit(1);
        const lanes = build.selectFrom('delivery_lanes').select('owner_id').where(isLaneAhead).limit(1);
        const looked = await Promise.all([database.read(found.compile()), database.read(lanes.compile())]);
        if (looked.flat().length === 0) return;
        await database.write([
          sql`update delivery_lanes set next_at = ${now}, version = version + 1
            where ${isLaneAhead}
              or (owner_id, channel, target) in (select owner_id, channel, target from deliveries where ${isAhead})
          `.compile(build),
          build
            .updateTable('deliveries')
            .set({
              created_at: sql<number>`case when ${wasPutInAhead} then ${now} else created_at end`,
              next_at: now,
              not_before: now,
              // What has one turn still has no more.
              expires_at: sql<number>`case when expires_at <= created_at then ${now} else expires_at end`,
            })
            .where(isAhead)
            .compile(),
        ]);
      },

      async joinLane(delivery, now, insist) {
        const [lane, inserted] = await database.write(await join(delivery, now, insist));
        if (inserted?.changes === 1) return 'joined';
        const [found] = (lane?.rows ?? []) as { closing: number }[];
        return found?.closing === 1 ? 'closing' : 'none';
      },

      async isClosing(lane) {
        const found = build.selectFrom('delivery_lanes').select('closing').where(ofLane(lane)).where('closing', '=', 1);
        return (await database.read(found.compile())).length > 0;
      },

      hasQueue,

      async listQueues(now) {
        const rows = await database.read(
          sql<Pick<Row, 'owner_id' | 'channel' | 'target'>>`select owner_id, channel, target from delivery_lanes
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

      async newestWaiting() {
        const waiting = build.selectFrom('deliveries').where('next_at', 'is not', null);
        const [row] = await database.read(waiting.select((eb) => eb.fn.max('notification_id').as('newest')).compile());
        return row?.newest ?? null;
      },

      async countWaiting(ownerId) {
        const [row] = await database.read(
          build
            .selectFrom('deliveries')
            .select((eb) => eb.fn.countAll<number>().as('count'))
            .where('owner_id', '=', ownerId)
            .where('next_at', 'is not', null)
            .compile(),
        );
        return Number(row?.count ?? 0);
      },

      async waitingTotals() {
        const [waiting] = await database.read(
          build
            .selectFrom('deliveries')
            .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('created_at').as('oldest')])
            .where('next_at', 'is not', null)
            .compile(),
        );
        const [dead] = await database.read(
          build
            .selectFrom('deliveries')
            .select((eb) => eb.fn.countAll<number>().as('count'))
            // As in the index, which a parameter would not match.
            .where('state', '=', sql.lit('dead'))
            .compile(),
        );
        return {
          waiting: Number(waiting?.count ?? 0),
          dead: Number(dead?.count ?? 0),
          oldestWaitingAt: (waiting?.oldest as number | null | undefined) ?? null,
        };
      },

      async listDeliveries({ ownerId, notificationId, state, limit }) {
        let query = build.selectFrom('deliveries').selectAll().where('owner_id', '=', ownerId);
        if (notificationId !== undefined) query = query.where('notification_id', '=', notificationId);
        if (state !== undefined) query = query.where('state', '=', state);
        const rows = await database.read(
          query.orderBy('notification_id', 'desc').orderBy('channel').orderBy('target').limit(limit).compile(),
        );
        return Promise.all(rows.map(toDelivery));
      },

      async retryDeliveries(deliveries, now) {
        const renewed = deliveries.map((delivery) => ({ ...delivery, nextAt: now }));
        const results = await database.write([
          ...renewed.map((delivery) =>
            build
              .updateTable('deliveries')
              .set({
                state: 'waiting',
                attempts: 0,
                next_at: now,
                not_before: 0,
                expires_at: now + dayMs,
                ended_at: null,
              })
              .where(ofDelivery(delivery))
              .where('state', '!=', 'sent')
              .compile(),
          ),
          ...openLanes(renewed),
        ]);
        return count(results.slice(0, renewed.length));
      },

      async dropDeliveries(deliveries) {
        // A lane that is empty now is cleared away by whoever holds it next.
        return count(
          await database.write(
            deliveries.map((delivery) => build.deleteFrom('deliveries').where(ofDelivery(delivery)).compile()),
          ),
        );
      },
    },
  };

  async function hasQueue(lane: LaneName, now: number): Promise<boolean> {
    const found = sql<{ owner_id: string }>`select owner_id from deliveries
      where ${ofLane(lane)} and ${mayBeTried(now)} limit 1`;
    return (await database.read(found.compile(build))).length > 0;
  }

  async function release(lane: Lane, version: number, nextAt: number | null): Promise<boolean> {
    const [released] = await database.write([
      nextAt === null
        ? build.deleteFrom('delivery_lanes').where(isHeld(lane, version)).compile()
        : build
            .updateTable('delivery_lanes')
            .set({ next_at: nextAt, lease_until: 0, closing: 0 })
            .where(isHeld(lane, version))
            .compile(),
    ]);
    return released?.changes === 1;
  }
}

function count(results: readonly { changes: number }[]): number {
  return results.reduce((sum, { changes }) => sum + changes, 0);
}

function laneId({ ownerId, channel, target }: LaneName): string {
  return `${ownerId}/${channel}/${target}`;
}

function placeOf({
  ownerId,
  notificationId,
  channel,
  target,
}: Pick<Delivery, keyof LaneName | 'notificationId'>): Place {
  return deliveryPlace(ownerId, [notificationId, channel, target]);
}

/** `key`: the rest of the primary key, in its order. */
export function deliveryPlace(ownerId: string, key: readonly string[]): Place {
  return { table: 'deliveries', ownerId, rowId: key.join('/'), column: 'sealed' };
}
