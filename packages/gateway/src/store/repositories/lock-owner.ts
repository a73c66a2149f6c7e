import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from '../schema/database.ts';

/** `from owners`, with a lock against deletion of the owner: a concurrent deletion also deletes the rows inserted here. */
export function lockOwner(dialect: Dialect, ownerId: string): RawBuilder<unknown> {
  return sql`from owners where id = ${ownerId} ${dialect === 'postgres' ? sql`for key share` : sql``}`;
}
