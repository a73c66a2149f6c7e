import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from '../schema/database.ts';

/** Passes the list as one parameter, since a statement per list length would evict others from the plan cache. */
export function isOneOf(dialect: Dialect, column: string, values: readonly string[]): RawBuilder<boolean> {
  return dialect === 'postgres'
    ? sql`${sql.ref(column)} = any(cast(${[...values]} as text[]))`
    : sql`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`;
}
