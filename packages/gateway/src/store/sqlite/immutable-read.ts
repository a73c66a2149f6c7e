// Reads a database on a full disk, where SQLite cannot create the shared memory file of the write-ahead log. If the log is
// empty, all data is in the database file, and no process can write to it meanwhile.
import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { primaryCode } from '../files/sqlite-result-codes.ts';
import type { QueryResult } from '../schema/database.ts';
import type { Statement } from './protocol.ts';

/** IOERR, FULL and CANTOPEN, the errors on a full disk. */
const codes = [10, 13, 14];

export function canReadImmutable(file: string, error: unknown): boolean {
  const code = primaryCode(error);
  if (code === undefined || !codes.includes(code)) return false;
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Opened for one statement only: other processes may write as soon as there is space again. */
export function readImmutable(file: string, { sql, parameters }: Statement): QueryResult<unknown> {
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  const db = new DatabaseSync(url, { readOnly: true });
  try {
    return { rows: db.prepare(sql).all(...(parameters as SQLInputValue[])), changes: 0 };
  } finally {
    db.close();
  }
}
