// Facts about the database itself, as plaintext JSON in `meta`: neither secret nor personal.
import type { CompiledQuery } from 'kysely';
import type { Database } from './database.ts';

const factNames = ['clock', 'schema'] as const;
type FactName = (typeof factNames)[number];

export function isFactRow(name: string): boolean {
  return (factNames as readonly string[]).includes(name);
}

/** null if it is missing or damaged: every fact can be determined again. */
export async function readFact<T>(
  { build, read }: Pick<Database, 'build' | 'read'>,
  name: FactName,
): Promise<T | null> {
  const [row] = await read(build.selectFrom('meta').select('value').where('name', '=', name).compile());
  if (row === undefined) return null;
  try {
    return JSON.parse(Buffer.from(row.value).toString()) as T;
  } catch {
    return null;
  }
}

export function writeFact({ build }: Pick<Database, 'build'>, name: FactName, fact: object): CompiledQuery {
  const value = Buffer.from(JSON.stringify(fact));
  return build
    .insertInto('meta')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .compile();
}
