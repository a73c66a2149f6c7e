import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from '../schema/database.ts';

/** The time in milliseconds by the clock of the database, since the clocks of several nodes may differ. */
export const databaseClock: Record<Dialect, RawBuilder<number>> = {
  sqlite: sql`cast(unixepoch('subsec') * 1000 as integer)`,
  postgres: sql`cast(extract(epoch from statement_timestamp()) * 1000 as bigint)`,
};
