// Which versions may use a database. If a newer version has only extended the schema, older versions can still use it. If it
// has made a breaking change, it records that here, and older versions refuse to start.
import { sql } from 'kysely';
import packageJson from '../../../package.json' with { type: 'json' };
import { Problem } from '../../core/problem.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Database, Migration } from './database.ts';
import { readFact, writeFact } from './meta.ts';

export interface SchemaFact {
  /** The version of Tocsin that first used this schema. */
  version: string;
  /** The newest migration. */
  newest: string;
  /** A version that does not know this migration must not use the database. */
  minReader: string;
}

/** To be called after the migrations. Rejects with a Problem if this version is too old for the schema. */
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
      `The database was migrated by Tocsin ${fact?.version ?? 'of a newer version'}; this is ${packageJson.version}, ` +
        'which can use it without the new features. Return to the newer version when possible.',
    );
    return;
  }
  const current = { newest: known.at(-1) ?? '', minReader: minReaderOf(steps) };
  if (fact?.newest === current.newest && fact.minReader === current.minReader) return;
  try {
    await database.write([writeFact(database, 'schema', { version: packageJson.version, ...current })]);
  } catch (error) {
    // If the database cannot be written now, the next start records it.
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
