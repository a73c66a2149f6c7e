// Installations that predate a stricter default keep the old one, and their operators are warned.
import { type CompiledQuery, type Kysely, sql } from 'kysely';
import type { Store } from '../../usecases/ports/index.ts';
import type { Database } from './database.ts';
import type { Tables } from './tables.ts';

/** A row of `meta`; it is copied with the others. */
export const legacyRow = 'legacy_installation';

/** Runs once, in its migration: a new installation has no owner at that time. */
export function markLegacyInstallation(build: Kysely<Tables>, isPostgres: boolean): CompiledQuery {
  const value = isPostgres ? sql`'\\x31'::bytea` : sql`x'31'`;
  return sql`insert into meta (name, value) select ${sql.lit(legacyRow)}, ${value} where exists (select 1 from owners)`.compile(
    build,
  );
}

export function createLegacyCheck({ build, read }: Database): Store['isLegacy'] {
  return async () => {
    const rows = await read(build.selectFrom('meta').select('name').where('name', '=', legacyRow).compile());
    return rows.length > 0;
  };
}
