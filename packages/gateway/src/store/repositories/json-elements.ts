import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../schema/database.ts';

/** A table with a row for each value, in the JSON column `value`. It is one parameter, however many values there are. */
export function jsonElements(dialect: Database['dialect'], values: readonly unknown[]): RawBuilder<unknown> {
  const json = JSON.stringify(values);
  return dialect === 'postgres' ? sql`json_array_elements(cast(${json} as json)) as value` : sql`json_each(${json})`;
}
