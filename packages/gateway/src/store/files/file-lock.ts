// A lock between processes that ends with its holder, however that ends: SQLite's own, on an empty file.
import { DatabaseSync } from 'node:sqlite';
import { isContention } from './sqlite-result-codes.ts';

export interface FileLock {
  release(): void;
}

/** null where the file cannot be made. The file stays: taking it away would let two others hold two locks. */
export function lockFile(file: string): FileLock | 'taken' | null {
  let db: DatabaseSync;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
  } catch {
    return null;
  }
  try {
    // Without a journal on disk the lock can be had on a full disk, too; nothing is ever written here.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    return isContention(error) ? 'taken' : null;
  }
}
