import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Goes into the same transaction as every change that a cache elsewhere must notice. */
export function bumpGeneration(database: Database) {
  return database.build.updateTable('changes').set({ generation: sql`generation + 1` }).where('id', '=', 1).compile();
}
