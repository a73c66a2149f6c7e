import { sql } from 'kysely';
import type { ClockRecord } from '../../core/clock-record.ts';
import type { ClockRepository } from '../../usecases/ports/index.ts';
import type { Database } from '../schema/database.ts';
import { readFact, writeFact } from '../schema/meta.ts';
import { databaseClock } from './database-clock.ts';

export function createClockRepository(database: Database): ClockRepository {
  return {
    async read() {
      const record = await readFact<ClockRecord>(database, 'clock');
      if (database.dialect === 'sqlite') return { record, databaseNow: null };
      const query = sql<{ now: number }>`select ${databaseClock.postgres} as now`.compile(database.build);
      const [row] = await database.read(query);
      return { record, databaseNow: Number(row?.now) };
    },

    async save(record) {
      await database.write([writeFact(database, 'clock', record)]);
    },
  };
}
