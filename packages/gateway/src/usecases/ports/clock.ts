// What the store knows about the clock, so that a wrong one does not delete the history.
import type { ClockRecord } from '../../core/clock-record.ts';

export interface ClockStore {
  /** The record is null before the first observation, the time where the database has no clock of its own. */
  readClock(): Promise<{ record: ClockRecord | null; databaseNow: number | null }>;
  saveClock(record: ClockRecord): Promise<void>;
}
