// Requests per key, counted across all processes on the database.
import { type CompiledQuery, sql } from 'kysely';
import { type LimitRepository, quotaIds, type RateLimitState, type RequestCount } from '../../usecases/ports/limits.ts';
import type { Database } from '../schema/database.ts';
import { databaseClock } from './database-clock.ts';

export function createLimitRepository({
  build,
  dialect,
  read,
  write,
}: Pick<Database, 'build' | 'dialect' | 'read' | 'write'>): LimitRepository {
  const now = databaseClock[dialect];
  const isOver = sql<boolean>`request_counts.resets_at <= ${now}`;
  // A window that ends later than one window length from now was started by a clock running ahead. Its count is kept, and it
  // ends one window length from now.
  const endsTooLate = sql<boolean>`request_counts.resets_at > ${now} + request_counts.window_ms`;

  const countOne = ({ ownerId, keyId, windowMs, count }: RequestCount): CompiledQuery =>
    build
      .insertInto('request_counts')
      .values({
        owner_id: ownerId,
        key_id: keyId,
        window_ms: windowMs,
        used: count,
        resets_at: sql<number>`${now} + ${windowMs}`,
      })
      .onConflict((conflict) =>
        conflict.columns(['owner_id', 'key_id', 'window_ms']).doUpdateSet({
          used: sql<number>`case when ${isOver} then excluded.used else request_counts.used + excluded.used end`,
          resets_at: sql<number>`case when ${isOver} or ${endsTooLate} then excluded.resets_at else request_counts.resets_at end`,
        }),
      )
      .returning(['used', sql<number>`resets_at - ${now}`.as('ms_left')])
      .compile();

  return {
    async count(requests) {
      // All processes lock the rows in the same order, to avoid deadlocks.
      const order = [...requests.keys()].sort((a, b) => compare(requests[a], requests[b]));
      const results = await write(order.map((index) => countOne(requests[index] as RequestCount)));
      const states: RateLimitState[] = [];
      for (const [position, index] of order.entries()) {
        const [row] = (results[position]?.rows ?? []) as { used: number | string; ms_left: number | string }[];
        if (row === undefined) throw new Error('The database returned no result for a count.');
        states[index] = { used: Number(row.used), msLeft: Number(row.ms_left) };
      }
      return states;
    },

    async readQuotaUse(ownerId) {
      const query = build
        .selectFrom('request_counts')
        .select(['key_id', 'used'])
        .where('owner_id', '=', ownerId)
        .where('key_id', 'in', Object.values(quotaIds))
        .where(sql<boolean>`not ${isOver}`);
      const rows = await read(query.compile());
      const of = (id: string): number => Number(rows.find(({ key_id }) => key_id === id)?.used ?? 0);
      return { rows: of(quotaIds.rows), bytes: of(quotaIds.bytes) };
    },
  };
}

function compare(a: RequestCount | undefined, b: RequestCount | undefined): number {
  const [left, right] = [a, b].map((each) => `${each?.ownerId}/${each?.keyId}/${each?.windowMs}`) as [string, string];
  return left < right ? -1 : 1;
}
