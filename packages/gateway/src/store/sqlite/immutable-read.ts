// Reads from a database that SQLite cannot open in the usual way, because a full disk has no room for the index of its
// write-ahead log. Without such a log everything is in the file itself, and nobody can write to that meanwhile.
import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { primaryCode } from '../files/sqlite-result-codes.ts';
import type { QueryResult } from '../schema/database.ts';
import type { Statement } from './protocol.ts';

/** IOERR, FULL and CANTOPEN: what a full disk leads to. */
const codes = [10, 13, 14];

export function canReadImmutable(file: string, error: unknown): boolean {
  const code = primaryCode(error);
  if (code === undefined || !codes.includes(code)) return false;
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Opened for this one statement: as soon as there is room again, others may write. */
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
