// Statements that insert deliveries and their queues, for transactions of other repositories.
import { type CompiledQuery, sql } from 'kysely';
import type { Delivery, DispatchToSettle, TargetQueueName } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { DeliveryRows } from './delivery-rows.ts';

export interface DeliveryInserts {
  /** Inserts the failed and pending deliveries of dispatches and opens their queues. */
  unsent(settled: readonly Pick<DispatchToSettle, 'failed' | 'sending'>[]): Promise<CompiledQuery[]>;
  /** Inserts dead deliveries, or makes existing ones dead. */
  dead(deliveries: readonly Delivery[]): Promise<CompiledQuery[]>;
  /** Creates the queues of deliveries, or makes them due with the earliest of them. */
  openQueues(deliveries: readonly Delivery[], leaseUntil?: number): CompiledQuery[];
}

export function createDeliveryInserts({ build }: Database, { toRow }: DeliveryRows): DeliveryInserts {
  /** The version of a queue changes with every insert, so that its holder notices new deliveries. */
  function openQueue({ ownerId, channel, target }: TargetQueueName, nextAt: number, leaseUntil = 0): CompiledQuery {
    const row = {
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
      .values(row)
      .onConflict((conflict) =>
        conflict.columns(['owner_id', 'channel', 'target']).doUpdateSet({
          next_at: sql<number>`case when delivery_lanes.next_at < ${nextAt} then delivery_lanes.next_at else ${nextAt} end`,
          version: sql<number>`delivery_lanes.version + 1`,
        }),
      )
      .compile();
  }

  /** Deletes the inserted rows again if another process has deleted the owner meanwhile. */
  function dropOrphans(ownerId: string): CompiledQuery[] {
    const isOrphaned = sql<boolean>`owner_id = ${ownerId} and not exists (select 1 from owners where id = ${ownerId})`;
    return (['deliveries', 'delivery_lanes'] as const).map((table) =>
      build.deleteFrom(table).where(isOrphaned).compile(),
    );
  }

  /** Queues are opened in the same order everywhere, to avoid deadlocks. */
  function openQueues(deliveries: readonly Delivery[], leaseUntil = 0): CompiledQuery[] {
    const earliest = new Map<string, { queue: TargetQueueName; nextAt: number }>();
    for (const delivery of deliveries) {
      if (delivery.nextAt === null) continue;
      const id = queueId(delivery);
      const known = earliest.get(id);
      earliest.set(id, { queue: delivery, nextAt: Math.min(delivery.nextAt, known?.nextAt ?? delivery.nextAt) });
    }
    return [...earliest]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { queue, nextAt }]) => openQueue(queue, nextAt, leaseUntil));
  }

  return {
    async unsent(settled) {
      const failed = settled.flatMap((each) => each.failed);
      const sending = settled.flatMap((each) => (each.sending === undefined ? [] : [each.sending]));
      const all = [...failed, ...sending.flatMap(({ deliveries }) => deliveries)];
      const queries: CompiledQuery[] = [];
      for (const delivery of all) {
        const insert = build.insertInto('deliveries').values(await toRow(delivery));
        queries.push(insert.onConflict((conflict) => conflict.doNothing()).compile());
      }
      queries.push(...openQueues(failed));
      for (const { deliveries, leaseUntil } of sending) queries.push(...openQueues(deliveries, leaseUntil));
      for (const ownerId of new Set(all.map((delivery) => delivery.ownerId))) queries.push(...dropOrphans(ownerId));
      return queries;
    },

    async dead(deliveries) {
      const rows = await Promise.all(deliveries.map(toRow));
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
        ...[...new Set(deliveries.map(({ ownerId }) => ownerId))].flatMap(dropOrphans),
      ];
    },

    openQueues,
  };
}

function queueId({ ownerId, channel, target }: TargetQueueName): string {
  return `${ownerId}/${channel}/${target}`;
}
