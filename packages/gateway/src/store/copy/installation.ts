// The id of the installation, not encrypted, so that a copy is recognized also after a rotation of the master key.
import { randomUUID } from 'node:crypto';
import type { Database } from '../schema/database.ts';
import type { RowSource } from './transfer.ts';
import { transferTables } from './transfer-tables.ts';

/** A row of `meta`; it is copied with the others. */
export const installationRow = 'installation';

/** Creates the id, unless there is one. */
export async function nameInstallation(database: Database): Promise<void> {
  const row = { name: installationRow, value: Buffer.from(randomUUID()) };
  const insert = database.build.insertInto('meta').values(row);
  await database.write([insert.onConflict((conflict) => conflict.doNothing()).compile()]);
}

/** Whether both have the same id. */
export async function isSameInstallation(source: RowSource, { build, read }: Database): Promise<boolean> {
  const query = build.selectFrom('meta').select('value').where('name', '=', installationRow);
  const [row] = await read(query.compile());
  const name = row === undefined ? null : await installationOf(source);
  return name !== null && row !== undefined && Buffer.compare(name, row.value) === 0;
}

async function installationOf(source: RowSource): Promise<Uint8Array | null> {
  for (const table of transferTables().filter(({ name }) => name === 'meta')) {
    for await (const page of source.pages(table)) {
      const value = page.find(([name]) => name === installationRow)?.[1];
      if (value instanceof Uint8Array) return value;
    }
  }
  return null;
}
