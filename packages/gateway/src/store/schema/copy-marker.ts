// Marks a database that rows are being copied into, so that no server uses an incomplete copy, and no later copy overwrites
// rows that were written since.
import { Problem } from '../../core/problem.ts';
import type { Database } from './database.ts';

/** A row of `meta` that is not copied. */
export const copyMarker = 'copy';

/** `copying`: incomplete. `copied`: complete, and not used since. */
export type CopyState = 'copying' | 'copied';

export async function readCopyState(database: Database): Promise<CopyState | null> {
  const query = database.build.selectFrom('meta').select('value').where('name', '=', copyMarker);
  const [row] = await database.read(query.compile());
  if (row === undefined) return null;
  return Buffer.from(row.value).toString() === 'copied' ? 'copied' : 'copying';
}

/** null: removes the marker. */
export async function writeCopyState(database: Database, state: CopyState | null): Promise<void> {
  const { build } = database;
  const remove = build.deleteFrom('meta').where('name', '=', copyMarker).compile();
  if (state === null) {
    await database.write([remove]);
    return;
  }
  await database.write([
    remove,
    build
      .insertInto('meta')
      .values({ name: copyMarker, value: Buffer.from(state) })
      .compile(),
  ]);
}

/** Rejects with a Problem if a copy is incomplete. The first use of a complete copy removes its marker. */
export async function assertNotCopying(database: Database): Promise<void> {
  const state = await readCopyState(database);
  if (state === 'copying') {
    throw new Problem(
      "A copy into this database was not finished. Run the same 'tocsin migrate-store' or 'tocsin restore' again.",
    );
  }
  if (state === 'copied') await writeCopyState(database, null);
}
