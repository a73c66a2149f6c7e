import { sql } from 'kysely';
import type { Database } from '../schema/database.ts';
import { RowsRolledBack, type RowVersions } from '../vault/row-versions.ts';
import { childName } from '../vault/version-tree.ts';

/** Deletes sessions and links that expired by `now`, owner by owner, together with their versions. */
export async function purgeSignIns(
  { build, read }: Database,
  versions: RowVersions,
  now: number,
  signal?: AbortSignal,
): Promise<void> {
  for (const [table, id] of [
    ['sessions', 'id'],
    ['one_time_links', 'token_digest'],
  ] as const) {
    const expired = sql`from ${sql.table(table)} where expires_at < ${now}`;
    const owners = await read(sql<{ owner_id: string }>`select distinct owner_id ${expired}`.compile(build));
    for (const { owner_id: ownerId } of owners) {
      if (signal?.aborted) return;
      const ofOwner = sql`${expired} and owner_id = ${ownerId}`;
      try {
        await versions.write(ownerId, async () => {
          const rows = await read(sql<{ id: string }>`select ${sql.ref(id)} as id ${ofOwner}`.compile(build));
          const children = Object.fromEntries(rows.map((row) => [childName(table, row.id), null]));
          const queries = [sql`delete ${ofOwner}`.compile(build)];
          return rows.length === 0 ? null : { children, rows: () => ({ queries }) };
        });
      } catch (error) {
        // Reported already; expired rows of other owners are still deleted.
        if (!(error instanceof RowsRolledBack)) throw error;
      }
    }
  }
}
