// A lock between processes that is released when its holder ends, in whatever way: a SQLite lock on an empty file.
import { DatabaseSync } from 'node:sqlite';
import { isContention } from './sqlite-result-codes.ts';

export interface FileLock {
  release(): void;
}

/** null if the file cannot be created. The file is never removed: otherwise two processes could hold locks on two files. */
export function lockFile(file: string): FileLock | 'taken' | null {
  let db: DatabaseSync;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
  } catch {
    return null;
  }
  try {
    // Without a journal file the lock also works on a full disk; nothing is ever written here.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    return isContention(error) ? 'taken' : null;
  }
}
