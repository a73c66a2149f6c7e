// The targets of each notification at its first attempt, and the results.
import { type CompiledQuery, sql } from 'kysely';
import { latestLeaseEnd } from '../../core/lease.ts';
import type { Dispatch, DispatchRepository, DispatchResults, DispatchToSettle } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import type { Tables } from '../schema/tables.ts';
import type { DeliveryInserts } from './insert-deliveries.ts';
import { skipLockedOn } from './skip-locked.ts';

export function createDispatchRepository(
  database: Database,
  inserts: Pick<DeliveryInserts, 'unsent'>,
): DispatchRepository {
  const { build, dialect } = database;
  const skipLocked = skipLockedOn(dialect);

  /** Most dispatches have the same results: those of one owner with equal results are settled by one statement. */
  function settle(settled: readonly DispatchToSettle[]): CompiledQuery[] {
    const byResults = Map.groupBy(settled, ({ ownerId, results }) => `${ownerId}\n${JSON.stringify(results)}`);
    return [...byResults].map(([group, each]) => {
      const [ownerId, results] = group.split('\n');
      const ids = each.map(({ notificationId }) => notificationId);
      const isOne =
        dialect === 'postgres' ? sql`= any(${ids})` : sql`in (select value from json_each(${JSON.stringify(ids)}))`;
      return sql`update dispatches set results = ${results}, lease_until = null
        where owner_id = ${ownerId} and notification_id ${isOne} and lease_until is not null`.compile(build);
    });
  }

  return {
    async settle(settled) {
      const queries = [...settle(settled), ...(await inserts.unsent(settled))];
      if (queries.length > 0) await database.write(queries);
    },

    async claim(now, leaseUntil, limit, which = 'orphaned') {
      const isLeaseOver = sql`(lease_until <= ${now} or lease_until > ${latestLeaseEnd(now)})`;
      // `is not null` selects the partial index of unsettled dispatches.
      const isOrphaned = sql<boolean>`lease_until is not null ${which === 'all' ? sql`` : sql`and ${isLeaseOver}`}`;
      // A read first, since most of the time there is nothing to claim, and a read is cheaper than a transaction.
      const orphaned = build.selectFrom('dispatches').select('owner_id').where(isOrphaned);
      if ((await database.read(orphaned.limit(1).compile())).length === 0) return [];
      const [claimed] = await database.write([
        sql`update dispatches set lease_until = ${leaseUntil} where (owner_id, notification_id) in (
          select owner_id, notification_id from dispatches where ${isOrphaned}
          order by lease_until limit ${limit} ${skipLocked}
        ) returning owner_id, notification_id, targets`.compile(build),
      ]);
      const rows = (claimed?.rows ?? []) as Pick<Tables['dispatches'], 'owner_id' | 'notification_id' | 'targets'>[];
      return rows
        .map((row) => ({
          ownerId: row.owner_id,
          notificationId: row.notification_id,
          dispatch: JSON.parse(row.targets) as Dispatch,
        }))
        .sort((a, b) => (a.notificationId < b.notificationId ? -1 : 1));
    },

    async find(ownerId, notificationId) {
      const [row] = await database.read(
        build
          .selectFrom('dispatches')
          .select(['targets', 'results'])
          .where('owner_id', '=', ownerId)
          .where('notification_id', '=', notificationId)
          .compile(),
      );
      if (row === undefined) return null;
      return {
        dispatch: JSON.parse(row.targets) as Dispatch,
        results: row.results === null ? null : (JSON.parse(row.results) as DispatchResults),
      };
    },
  };
}
