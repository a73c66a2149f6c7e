// Opens every sealed value of the store, page by page, and says which do not open.
import { type CompiledQuery, sql } from 'kysely';
import { EncryptionKeyMissing } from '../gateway/ports.ts';
import type { Database } from './database.ts';
import type { Keyring } from './keyring.ts';
import { openKey } from './keys.ts';
import { isInTheClear, type KeyValue, type SealedColumn, sealedColumns } from './sealed-places.ts';
import type { Tables } from './tables.ts';

const pageSize = 500;

type Row = Record<string, unknown>;

export async function verify(database: Database, keyring: Keyring): Promise<string[]> {
  const problems = await database.verify();
  for (const column of sealedColumns) {
    for await (const row of rowsOf(database, column)) {
      const key = keyOf(column, row);
      try {
        await open(keyring, column, key, row);
      } catch (error) {
        // One word about the data key is enough, and comes with its owner. Without an owner it was shredded on purpose.
        if (error instanceof EncryptionKeyMissing && column.table !== 'owners') continue;
        problems.push(`${column.table} ${key.join('/')}: ${(error as Error).message}`);
      }
    }
  }
  return problems;
}

async function open(keyring: Keyring, column: SealedColumn, key: readonly KeyValue[], row: Row): Promise<void> {
  const value = row[column.column] as Uint8Array | null;
  if (value === null || (column.table === 'meta' && isInTheClear(String(key[0])))) return;
  if (column.table === 'api_keys') await openKey(keyring.master, row as unknown as Tables['api_keys']);
  else await (column.sealedBy === 'master key' ? keyring.master : keyring).unseal(column.placeOf(key), value);
}

async function* rowsOf(database: Database, column: SealedColumn): AsyncGenerator<Row> {
  for (let after: readonly KeyValue[] | null = null; ; ) {
    const page: Row[] = await database.read(selectPage(database, column, after));
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = keyOf(column, last);
  }
}

function selectPage({ build }: Database, column: SealedColumn, after: readonly KeyValue[] | null): CompiledQuery<Row> {
  const key = sql.join(column.key.map((name) => sql.ref(name)));
  const rest = after === null ? sql`` : sql`where (${key}) > (${sql.join([...after])})`;
  return sql<Row>`select * from ${sql.table(column.table)} ${rest} order by ${key} limit ${pageSize}`.compile(build);
}

function keyOf({ key }: SealedColumn, row: Row): KeyValue[] {
  return key.map((name) => row[name] as KeyValue);
}
