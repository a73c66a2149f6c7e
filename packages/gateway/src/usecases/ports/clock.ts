// The observed clock, so that a wrong clock does not purge the history.
import type { ClockRecord } from '../../core/clock-record.ts';

export interface ClockRepository {
  /** `record` is null before the first observation; `databaseNow` is null if the database has no clock of its own. */
  read(): Promise<{ record: ClockRecord | null; databaseNow: number | null }>;
  save(record: ClockRecord): Promise<void>;
}
