// Deliveries that failed at the first attempt: waiting for a retry, sent since, or dead.

import { sql } from 'kysely';
import { dayMs } from '../../core/duration.ts';
import type { Delivery, DeliveryRepository } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import { type DeliveryRows, isDelivery, isOfQueue, mayBeAttempted } from './delivery-rows.ts';
import type { DeliveryInserts } from './insert-deliveries.ts';

export function createDeliveryRepository(
  database: Database,
  { toRow, toDelivery }: DeliveryRows,
  { openQueues }: Pick<DeliveryInserts, 'openQueues'>,
): DeliveryRepository {
  const { build } = database;
  return {
    async listWaiting(queue, { now, limit, after = '' }) {
      const query = build
        .selectFrom('deliveries')
        .selectAll()
        .where(isOfQueue(queue))
        .where(mayBeAttempted(now))
        .where('notification_id', '>', after);
      return Promise.all(
        (await database.read(query.orderBy('notification_id').limit(limit).compile())).map(toDelivery),
      );
    },

    async update(deliveries) {
      if (deliveries.length === 0) return;
      const rows = await Promise.all(deliveries.map(toRow));
      await database.write(
        rows.map(({ state, attempts, next_at, not_before, ended_at, sealed }, index) =>
          build
            .updateTable('deliveries')
            .set({ state, attempts, next_at, not_before, ended_at, sealed })
            .where(isDelivery(deliveries[index] as Delivery))
            // Not if it was dropped, sent or became dead meanwhile.
            .where('next_at', 'is not', null)
            .compile(),
        ),
      );
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

    async totals() {
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
          // A literal, since a parameter would not match the partial index.
          .where('state', '=', sql.lit('dead'))
          .compile(),
      );
      return {
        waiting: Number(waiting?.count ?? 0),
        dead: Number(dead?.count ?? 0),
        oldestWaitingAt: (waiting?.oldest as number | null | undefined) ?? null,
      };
    },

    async list({ ownerId, notificationId, state, limit }) {
      let query = build.selectFrom('deliveries').selectAll().where('owner_id', '=', ownerId);
      if (notificationId !== undefined) query = query.where('notification_id', '=', notificationId);
      if (state !== undefined) query = query.where('state', '=', state);
      const rows = await database.read(
        query.orderBy('notification_id', 'desc').orderBy('channel').orderBy('target').limit(limit).compile(),
      );
      return Promise.all(rows.map(toDelivery));
    },

    async retry(deliveries, now) {
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
            .where(isDelivery(delivery))
            .where('state', '!=', 'sent')
            .compile(),
        ),
        ...openQueues(renewed),
      ]);
      return count(results.slice(0, renewed.length));
    },

    async drop(deliveries) {
      // The next holder of a queue that has become empty deletes it.
      return count(
        await database.write(
          deliveries.map((delivery) => build.deleteFrom('deliveries').where(isDelivery(delivery)).compile()),
        ),
      );
    },
  };
}

function count(results: readonly { changes: number }[]): number {
  return results.reduce((sum, { changes }) => sum + changes, 0);
}
