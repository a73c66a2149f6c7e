import { type RawBuilder, sql } from 'kysely';
import type { Dialect } from '../schema/database.ts';

/** The list as one parameter: a statement of its own for every length would push others out of the cache of plans. */
export function isOneOf(dialect: Dialect, column: string, values: readonly string[]): RawBuilder<boolean> {
  return dialect === 'postgres'
    ? sql`${sql.ref(column)} = any(cast(${[...values]} as text[]))`
    : sql`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`;
}
