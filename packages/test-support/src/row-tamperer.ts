// Modifies rows of a SQLite database directly, without the store.
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

export class RowTamperer {
  readonly #db: DatabaseSync;

  constructor(dataDir: string) {
    this.#db = new DatabaseSync(join(dataDir, 'tocsin.db'), { timeout: 2000 });
    // The database is not needed after the test, so it need not be durable.
    this.#db.exec('PRAGMA synchronous = OFF');
  }

  /** Returns the value of a column in the only row with these values. */
  read(table: string, column: string, where: Record<string, SQLInputValue>): Buffer {
    const sql = `SELECT ${column} AS value FROM ${table} WHERE ${conditions(where)}`;
    const row = this.#db.prepare(sql).get(...Object.values(where));
    return Buffer.from(row?.value as Uint8Array);
  }

  /** Throws unless exactly one row was changed. */
  update(table: string, set: Record<string, SQLInputValue>, where: Record<string, SQLInputValue>): void {
    const assignments = Object.keys(set).map((name) => `${name} = ?`);
    const sql = `UPDATE ${table} SET ${assignments.join(', ')} WHERE ${conditions(where)}`;
    const { changes } = this.#db.prepare(sql).run(...Object.values(set), ...Object.values(where));
    if (changes !== 1) throw new Error(`${changes} rows changed instead of one: ${sql}`);
  }

  /** Throws unless exactly one row was deleted. */
  remove(table: string, where: Record<string, SQLInputValue>): void {
    const sql = `DELETE FROM ${table} WHERE ${conditions(where)}`;
    const { changes } = this.#db.prepare(sql).run(...Object.values(where));
    if (changes !== 1) throw new Error(`${changes} rows deleted instead of one: ${sql}`);
  }

  close(): void {
    this.#db.close();
  }
}

function conditions(where: Record<string, SQLInputValue>): string {
  return Object.keys(where)
    .map((name) => `${name} = ?`)
    .join(' AND ');
}

/** Every value that differs from the original in one bit. */
export function* flippedBits(original: Buffer): Generator<Buffer> {
  for (let bit = 0; bit < original.length * 8; bit += 1) yield withFlippedBit(original, bit);
}

/** For each byte one value in which a bit of that byte differs. */
export function* flippedBytes(original: Buffer): Generator<Buffer> {
  for (let byte = 0; byte < original.length; byte += 1) yield withFlippedBit(original, byte * 8 + (byte % 8));
}

function withFlippedBit(original: Buffer, bit: number): Buffer {
  const changed = Buffer.from(original);
  changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
  return changed;
}
