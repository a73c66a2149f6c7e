// A SQLite file under construction: used by one process, and renamed to its final name once it is complete and on disk.
import { closeSync, fstatSync, lstatSync, openSync, readSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describeFileError } from '../../core/file-error.ts';
import { Problem } from '../../core/problem.ts';
import { isContention } from './sqlite-result-codes.ts';
import { syncPath } from './sync-path.ts';

export class Draft {
  readonly file: string;
  readonly db: DatabaseSync;
  /** Open as long as the database: closing a descriptor of a file releases all locks of the process on it. */
  readonly #descriptor: number;

  private constructor(file: string) {
    this.file = file;
    this.#descriptor = openSync(file, 'wx', 0o600);
    this.db = new DatabaseSync(file);
    try {
      // No durability, since an interrupted draft is discarded. The lock protects it from other processes.
      this.db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE');
      this.db.exec('BEGIN EXCLUSIVE; COMMIT');
    } catch (error) {
      if (!isContention(error)) {
        // A full disk, most often.
        this.discard();
        throw error;
      }
      this.#close();
      throw beingWritten(file);
    }
    // Before it was locked, another process may have taken it for an abandoned draft, and replaced it.
    if (isAt(file, this.#descriptor)) return;
    this.#close();
    throw beingWritten(file);
  }

  /** Replaces a draft of an interrupted process; fails if another process is writing it. */
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
    // While it is open, the path may lead to the draft of another process.
    if (!this.db.isOpen || isAt(this.file, this.#descriptor)) rmSync(this.file, { force: true });
    if (this.db.isOpen) this.#close();
  }

  /** Checks the file, closes it, and syncs it to disk. */
  finish(): void {
    const problems = quickCheck(this.db);
    if (problems.length > 0) throw new Problem(`${this.file} was not written correctly: ${problems[0]}`);
    this.#close();
    syncPath(this.file);
  }

  #close(): void {
    this.db.close();
    closeSync(this.#descriptor);
  }
}

/** Renames a finished file to its final name; replaces an existing file atomically. */
export function putInPlace(from: string, to: string): void {
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Problems that SQLite finds in a file; empty if there are none. */
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
  const descriptor = openSync(file, 'r');
  const db = new DatabaseSync(file, { timeout: 0 });
  let isTaken = false;
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    // Any other error comes from the incomplete file of an interrupted process.
    isTaken = isContention(error);
  }
  // Before the lock is released, and only the file that is locked.
  if (!isTaken && isAt(file, descriptor)) rmSync(file);
  db.close();
  closeSync(descriptor);
  if (isTaken) throw beingWritten(file);
}

/** Whether the path still leads to the open file. Its inode cannot be used for another file while it is open. */
function isAt(file: string, descriptor: number): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino;
}

function beingWritten(file: string): Problem {
  return new Problem(`Another process is writing ${file}.`);
}

/** Judged by its first bytes. */
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
