// The rows of a store as an attacker who can write its database sees them: bytes that can be saved and restored.
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { Client } from 'pg';

const keys: Record<string, string[]> = {
  owners: ['id'],
  data_keys: ['owner_id', 'version'],
  api_keys: ['owner_id', 'id'],
  sessions: ['owner_id', 'id'],
  one_time_links: ['owner_id', 'token_digest'],
  passkeys: ['owner_id', 'id'],
  oidc_identities: ['owner_id', 'id'],
  row_versions: ['id'],
};

type Row = Record<string, SQLInputValue>;
/** The rows by their names, which consist of table and key. */
export type RowSnapshot = Map<string, { table: string; row: Row }>;

export class RawRows {
  readonly #run: (statement: string, values: SQLInputValue[]) => Promise<Row[]>;
  readonly close: () => Promise<void>;

  private constructor(run: (statement: string, values: SQLInputValue[]) => Promise<Row[]>, close: () => Promise<void>) {
    this.#run = run;
    this.close = close;
  }

  static ofFile(dataDir: string): RawRows {
    const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { timeout: 5000 });
    return new RawRows(
      async (statement, values) => db.prepare(statement.replaceAll(/\$\d+/g, '?')).all(...values) as Row[],
      async () => db.close(),
    );
  }

  static async ofDatabase(url: string): Promise<RawRows> {
    const client = new Client(url);
    await client.connect();
    return new RawRows(
      async (statement, values) => (await client.query(statement, values)).rows,
      () => client.end(),
    );
  }

  async snapshot(): Promise<RowSnapshot> {
    const snapshot: RowSnapshot = new Map();
    for (const [table, key] of Object.entries(keys)) {
      for (const row of await this.#run(`SELECT * FROM ${table}`, [])) {
        snapshot.set([table, ...key.map((name) => row[name])].join(' '), { table, row });
      }
    }
    return snapshot;
  }

  /** Restores the rows of these names from the snapshot, and deletes those that it does not have. */
  async restore(snapshot: RowSnapshot, names: Iterable<string>): Promise<void> {
    const now = await this.snapshot();
    for (const name of names) {
      const present = now.get(name);
      if (present !== undefined) await this.#remove(present.table, present.row);
      const before = snapshot.get(name);
      if (before !== undefined) await this.#insert(before.table, before.row);
    }
  }

  async remove(names: Iterable<string>): Promise<void> {
    await this.restore(new Map(), names);
  }

  async #remove(table: string, row: Row): Promise<void> {
    const key = keys[table] as string[];
    const where = key.map((name, index) => `${name} = $${index + 1}`).join(' AND ');
    await this.#run(
      `DELETE FROM ${table} WHERE ${where}`,
      key.map((name) => row[name] as SQLInputValue),
    );
  }

  async #insert(table: string, row: Row): Promise<void> {
    const marks = Object.keys(row).map((_, index) => `$${index + 1}`);
    await this.#run(
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${marks.join(', ')})`,
      Object.values(row),
    );
  }
}

/** The names of the rows that differ between two snapshots. */
export function changedRows(one: RowSnapshot, other: RowSnapshot): string[] {
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => textOf(one, name) !== textOf(other, name));
}

function textOf(rows: RowSnapshot, name: string): string {
  return JSON.stringify(rows.get(name)?.row ?? null, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  );
}

/** All subsets except the empty one. */
export function* subsetsOf<T>(all: readonly T[]): Generator<T[]> {
  for (let bits = 1; bits < 2 ** all.length; bits += 1) yield all.filter((_, index) => (bits >> index) & 1);
}

/** The subsets that lack one element. */
export function allButOneOf<T>(all: readonly T[]): T[][] {
  return all.map((out) => all.filter((each) => each !== out));
}
