// Which versions may use a database. A newer version may only have added to the schema, and then an older one goes on
// using it; or it may have changed what older ones rely on, and then it says so here, and they refuse.
import { sql } from 'kysely';
import packageJson from '../../../package.json' with { type: 'json' };
import { Problem } from '../../core/problem.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Database, Migration } from './database.ts';
import { readFact, writeFact } from './meta.ts';

export interface SchemaFact {
  /** The version of Tocsin that first used this schema. */
  version: string;
  /** The newest step. */
  newest: string;
  /** A version that does not know this step must not use the database. */
  minReader: string;
}

/** To be called once the schema is up to date. Rejects with a Problem where this version is too old for it. */
export async function checkSchemaVersion(
  database: Database,
  steps: readonly Migration[],
  onNewer: (message: string) => void,
): Promise<void> {
  const known = steps.map(({ name }) => name);
  const rows = await database.read(sql<{ name: string }>`select name from schema_migrations`.compile(database.build));
  const fact = await readFact<SchemaFact>(database, 'schema');
  if (rows.some(({ name }) => !known.includes(name))) {
    refuseUnreadable(fact, known, `The database ${database.name}`);
    onNewer(
      `The database was brought up to date by Tocsin ${fact?.version ?? 'of a newer version'}; this is ` +
        `${packageJson.version}, which can use it without what is new in it. Go back to the newer version when you can.`,
    );
    return;
  }
  const current = { newest: known.at(-1) ?? '', minReader: minReaderOf(steps) };
  if (fact?.newest === current.newest && fact.minReader === current.minReader) return;
  try {
    await database.write([writeFact(database, 'schema', { version: packageJson.version, ...current })]);
  } catch (error) {
    // A database that cannot be written now is told so by the next start.
    if (!(error instanceof StoreUnavailable)) throw error;
  }
}

export function refuseUnreadable(fact: SchemaFact | null, known: readonly string[], what: string): void {
  if (fact === null || known.includes(fact.minReader)) return;
  throw new Problem(
    `${what} was changed by Tocsin ${fact.version} in a way that this version (${packageJson.version}) cannot use. ` +
      `Start Tocsin ${fact.version} or newer, or restore a backup from before the upgrade.`,
  );
}

function minReaderOf(steps: readonly Migration[]): string {
  return steps.findLast(({ isBreaking }) => isBreaking)?.name ?? steps[0]?.name ?? '';
}
