import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Belongs in the transaction of every change that must invalidate the caches of other processes. */
export function bumpGeneration(database: Database) {
  return database.build.updateTable('changes').set({ generation: sql`generation + 1` }).where('id', '=', 1).compile();
}
