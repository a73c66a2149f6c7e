// Rows of a SQLite file, for copying. Runs in the thread of the caller, since only commands copy.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { names, quote } from './quoted-names.ts';
import { type Changes, firstPageRows, nextPageRows, type RowTarget } from './transfer.ts';
import type { Column, Row, Table } from './transfer-tables.ts';

export class SqliteRows implements RowTarget {
  readonly #db: DatabaseSync;

  /** To read a snapshot, begin a transaction first. */
  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  async *pages(table: Table): AsyncGenerator<Row[]> {
    const [name, key] = [quote(table.name), names(table.key)];
    const from = `SELECT ${names(table.columns)} FROM ${name}`;
    const first = this.#db.prepare(`${from} ORDER BY ${key} LIMIT ?`);
    const next = this.#db.prepare(`${from} WHERE (${key}) > (${marks(table.key)}) ORDER BY ${key} LIMIT ?`);
    first.setReturnArrays(true);
    next.setReturnArrays(true);
    let page = first.all(firstPageRows) as unknown as Row[];
    while (page.length > 0) {
      yield page;
      page = next.all(...keyOf(table, page.at(-1) as Row), nextPageRows(page)) as unknown as Row[];
    }
  }

  async generation(): Promise<number> {
    return Number(this.#db.prepare('SELECT generation FROM changes').get()?.generation ?? 0);
  }

  async apply(table: Table, { upserts, deletes }: Changes): Promise<void> {
    const remove = this.#db.prepare(
      `DELETE FROM ${quote(table.name)} WHERE (${names(table.key)}) = (${marks(table.key)})`,
    );
    const put = this.#db.prepare(
      `INSERT OR REPLACE INTO ${quote(table.name)} (${names(table.columns)}) VALUES (${marks(table.columns)})`,
    );
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      for (const row of deletes) remove.run(...keyOf(table, row));
      for (const row of upserts) put.run(...row);
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  async setGeneration(value: number): Promise<void> {
    this.#db.prepare('UPDATE changes SET generation = ?').run(value);
  }
}

function keyOf({ key }: Table, row: Row): SQLInputValue[] {
  return row.slice(0, key.length);
}

function marks(columns: readonly Column[]): string {
  return columns.map(() => '?').join(', ');
}
