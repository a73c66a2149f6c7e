// Copies the rows of one store to another. Encrypted values are copied as they are, since they are bound to table, owner, row
// and column, not to a database.
import { Problem } from '../../core/problem.ts';
import { copyMarker } from '../schema/copy-marker.ts';
import { RowDigester, type TableDigest } from './transfer-digest.ts';
import type { Row, Table } from './transfer-tables.ts';

/** A snapshot of rows. */
export interface RowSource {
  /** Pages in the order of the key: text by its bytes, numbers by value. */
  pages(table: Table): AsyncIterable<Row[]>;
  generation(): Promise<number>;
}

/** A snapshot of a whole store. */
export interface Snapshot extends RowSource {
  /** The applied migrations. */
  readonly applied: readonly string[];
  /** Its tables, including those of migrations that this version does not know. */
  describeTables(): Promise<Table[]>;
  close(): Promise<void>;
}

export interface RowTarget extends RowSource {
  /** Deletes first. */
  apply(table: Table, changes: Changes): Promise<void>;
  setGeneration(value: number): Promise<void>;
}

export interface Changes {
  upserts: Row[];
  deletes: Row[];
}

export interface CopiedTable extends TableDigest {
  added: number;
  changed: number;
  removed: number;
}

export interface Progress {
  table: string;
  rows: number;
}

/** Both limit the memory that a page needs. */
const maxPageRows = 500;
const maxPageBytes = 4 * 1024 * 1024;
/** Small, since the size of the rows is not known yet. */
export const firstPageRows = 50;

/** Makes the target equal to the source, and reads it back for verification. */
export async function copyRows(
  tables: readonly Table[],
  source: RowSource,
  target: RowTarget,
  onProgress: (progress: Progress) => void,
): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = [];
  for (const table of tables) {
    const first = table.hasUniqueIndex ? await mergeTable(table, source, target, 'deletes') : { removed: 0 };
    const whole = await mergeTable(table, source, target, 'all', onProgress);
    copied.push({ ...whole, removed: first.removed + whole.removed });
  }
  for (const expected of copied) {
    // If nothing was written, every row has just been compared.
    if (expected.added + expected.changed + expected.removed === 0) continue;
    const table = tables.find(({ name }) => name === expected.name) as Table;
    const actual = await digestTable(table, target);
    if (actual.digest !== expected.digest) {
      throw new Problem(
        `The copy of ${table.name} differs from its source: ${actual.rows} rows instead of ${expected.rows}, or different ` +
          'values. Make sure that nothing else writes to the target, and run this again.',
      );
    }
  }
  await target.setGeneration(Math.max(await source.generation(), await target.generation()) + 1);
  return copied;
}

export async function digestTable(table: Table, source: RowSource): Promise<TableDigest> {
  const digester = new RowDigester(table);
  for await (const page of copiedPages(table, source)) for (const row of page) digester.add(row);
  return digester.end();
}

/** Merges both sides in the order of the key: inserts missing rows, updates different ones, deletes extra ones. */
async function mergeTable(
  table: Table,
  source: RowSource,
  target: RowTarget,
  mode: 'all' | 'deletes',
  onProgress?: (progress: Progress) => void,
): Promise<CopiedTable> {
  const digester = new RowDigester(table);
  const counts = { added: 0, changed: 0, removed: 0 };
  const batch = new Batch(table, target);
  const from = await Reader.open(copiedPages(table, source), (rows) => onProgress?.({ table: table.name, rows }));
  const to = await Reader.open(copiedPages(table, target));
  try {
    while (from.row !== undefined || to.row !== undefined) {
      const order = compareKeys(table, from.row, to.row);
      if (order > 0) {
        counts.removed += 1;
        batch.remove(to.row as Row);
      } else {
        const row = from.row as Row;
        digester.add(row);
        const isEqual = order === 0 && isSame(row, to.row as Row);
        if (order < 0) counts.added += 1;
        else if (!isEqual) counts.changed += 1;
        if (!isEqual && mode === 'all') batch.put(row);
      }
      if (batch.isFull) await batch.flush();
      // Only a new page has to be awaited.
      const next = [order <= 0 ? from.advance() : undefined, order >= 0 ? to.advance() : undefined];
      if (next.some((page) => page !== undefined)) await Promise.all(next);
    }
    await batch.end();
  } finally {
    await from.close();
    await to.close();
  }
  return { ...digester.end(), ...counts };
}

class Batch {
  readonly #table: Table;
  readonly #target: RowTarget;
  #changes: Changes = { upserts: [], deletes: [] };
  #bytes = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(table: Table, target: RowTarget) {
    this.#table = table;
    this.#target = target;
  }

  put(row: Row): void {
    this.#changes.upserts.push(row);
    this.#bytes += rowBytes(row);
  }

  remove(row: Row): void {
    this.#changes.deletes.push(row);
  }

  get isFull(): boolean {
    const { upserts, deletes } = this.#changes;
    return upserts.length + deletes.length >= maxPageRows || this.#bytes >= maxPageBytes;
  }

  /** Waits for the previous write only, so that this one runs while the next batch is collected. */
  async flush(): Promise<void> {
    await this.#writing;
    const changes = this.#changes;
    if (changes.upserts.length + changes.deletes.length === 0) return;
    this.#changes = { upserts: [], deletes: [] };
    this.#bytes = 0;
    this.#writing = this.#target.apply(this.#table, changes);
    // A failure is reported by the next flush.
    this.#writing.catch(() => undefined);
  }

  async end(): Promise<void> {
    await this.flush();
    await this.#writing;
  }
}

/** Iterates over the rows of pages. */
class Reader {
  readonly #pages: AsyncIterator<Row[]>;
  readonly #onPage: ((rows: number) => void) | undefined;
  #page: Row[] = [];
  #index = 0;
  #before = 0;

  private constructor(pages: AsyncIterator<Row[]>, onPage: ((rows: number) => void) | undefined) {
    this.#pages = pages;
    this.#onPage = onPage;
  }

  static async open(pages: AsyncIterable<Row[]>, onPage?: (rows: number) => void): Promise<Reader> {
    const reader = new Reader(pages[Symbol.asyncIterator](), onPage);
    await reader.#nextPage();
    return reader;
  }

  /** Undefined after the last row. */
  get row(): Row | undefined {
    return this.#page[this.#index];
  }

  advance(): Promise<void> | undefined {
    this.#index += 1;
    return this.#index < this.#page.length ? undefined : this.#nextPage();
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }

  async #nextPage(): Promise<void> {
    this.#before += this.#page.length;
    const { done, value } = await this.#pages.next();
    this.#page = done ? [] : value;
    this.#index = 0;
    this.#onPage?.(this.#before + this.#page.length);
  }
}

/** Leaves out the copy marker, which belongs to the target. */
async function* copiedPages(table: Table, source: RowSource): AsyncIterable<Row[]> {
  for await (const page of source.pages(table)) {
    const rows = table.name === 'meta' ? page.filter(([name]) => name !== copyMarker) : page;
    if (rows.length > 0) yield rows;
  }
}

/** The number of rows of the next page, fewer if rows are long. */
export function nextPageRows(page: readonly Row[]): number {
  const bytes = page.reduce((sum, row) => sum + rowBytes(row), 0);
  return Math.max(1, Math.min(maxPageRows, Math.floor((maxPageBytes * page.length) / bytes)));
}

function rowBytes(row: Row): number {
  let bytes = 0;
  for (const value of row) bytes += value === null || typeof value === 'number' ? 8 : value.length;
  return bytes;
}

/** A side that has ended is ordered last. */
function compareKeys({ key }: Table, left: Row | undefined, right: Row | undefined): number {
  if (left === undefined) return 1;
  if (right === undefined) return -1;
  for (const index of key.keys()) {
    const order = compareValues(left[index], right[index]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValues(left: Row[number] | undefined, right: Row[number] | undefined): number {
  if (left === right) return 0;
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  // By UTF-8 bytes, as in the databases; JavaScript compares UTF-16 code units.
  return Buffer.compare(Buffer.from(String(left)), Buffer.from(String(right)));
}

function isSame(left: Row, right: Row): boolean {
  return left.every((value, index) => {
    const other = right[index];
    if (value instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(value, other) === 0;
    return value === other;
  });
}
