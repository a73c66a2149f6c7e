// A SQLite file in the making: for one process alone, and under its final name only once it is whole and on disk.
import { closeSync, lstatSync, openSync, readSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describeFileError } from '../../core/file-error.ts';
import { Problem } from '../../core/problem.ts';
import { isContention } from './sqlite-result-codes.ts';
import { syncPath } from './sync-path.ts';

export class Draft {
  readonly file: string;
  readonly db: DatabaseSync;

  private constructor(file: string) {
    this.file = file;
    closeSync(openSync(file, 'wx', 0o600));
    this.db = new DatabaseSync(file);
    try {
      // One that is cut off is thrown away, so nothing has to survive before the end; the lock tells others of this one.
      this.db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE');
      this.db.exec('BEGIN EXCLUSIVE; COMMIT');
    } catch (error) {
      // A full disk, most often.
      this.discard();
      throw error;
    }
  }

  /** Takes the place of one that was cut off; refuses where another process is at it now. */
  static create(file: string): Draft {
    try {
      removeAbandoned(file);
      return new Draft(file);
    } catch (error) {
      if (error instanceof Problem) throw error;
      throw new Problem(`${file} cannot be written: ${describeFileError(error)}.`);
    }
  }

  discard(): void {
    if (this.db.isOpen) this.db.close();
    rmSync(this.file, { force: true });
  }

  /** Checks the file, closes it, and sees it onto the disk. */
  finish(): void {
    const problems = quickCheck(this.db);
    if (problems.length > 0) throw new Problem(`${this.file} was not written as it should be: ${problems[0]}`);
    this.db.close();
    syncPath(this.file);
  }
}

/** Gives a finished file its name; whatever had it is replaced in one step. */
export function putInPlace(from: string, to: string): void {
  renameSync(from, to);
  syncPath(dirname(to));
}

/** What SQLite finds wrong with a file; empty when it is sound. */
export function quickCheck(db: DatabaseSync): string[] {
  return db
    .prepare('PRAGMA quick_check')
    .all()
    .map((row) => String(Object.values(row)[0]))
    .filter((line) => line !== 'ok');
}

function removeAbandoned(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile() || (found.size > 0 && !isDatabase(file))) {
    throw new Problem(`${file} is in the way and was not written by Tocsin. Move it away, or name another file.`);
  }
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    if (isContention(error)) throw new Problem(`Another process is writing ${file} at this moment.`);
    // Anything else is wrong with what a process that was cut off left behind.
  } finally {
    db?.close();
  }
  rmSync(file);
}

/** As far as its first bytes tell. */
function isDatabase(file: string): boolean {
  const expected = 'SQLite format 3\0';
  const first = Buffer.alloc(expected.length);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, first);
  } finally {
    closeSync(handle);
  }
  return first.toString('latin1') === expected;
}
