import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from '../schema/database.ts';

/** Processes that claim concurrently get different rows instead of waiting for each other. */
export function skipLockedOn(dialect: Dialect): RawBuilder<unknown> {
  return dialect === 'postgres' ? sql`for update skip locked` : sql``;
}
