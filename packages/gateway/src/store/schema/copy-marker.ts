// A database that rows are being copied into says so, so that nobody serves from half a copy, and so that a later copy
// never goes over what was written there since.
import { Problem } from '../../core/problem.ts';
import type { Database } from './database.ts';

/** A row of `meta` that stays where it is when rows are copied. */
export const copyMarker = 'copy';

/** `copying`: not whole yet. `copied`: whole, and nobody has used it since. */
export type CopyState = 'copying' | 'copied';

export async function readCopyState(database: Database): Promise<CopyState | null> {
  const query = database.build.selectFrom('meta').select('value').where('name', '=', copyMarker);
  const [row] = await database.read(query.compile());
  if (row === undefined) return null;
  return Buffer.from(row.value).toString() === 'copied' ? 'copied' : 'copying';
}

/** null: it is a store like any other from now on. */
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

/** Whoever opens a finished copy, to serve from it or with a command that may write, makes it the real thing. */
export async function assertNotCopying(database: Database): Promise<void> {
  const state = await readCopyState(database);
  if (state === 'copying') {
    throw new Problem(
      "A copy into this database was begun and not finished. Run the same 'tocsin migrate-store' or 'tocsin restore' again.",
    );
  }
  if (state === 'copied') await writeCopyState(database, null);
}
