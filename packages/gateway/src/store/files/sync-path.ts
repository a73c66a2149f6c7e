import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Sees a file onto the disk, or with a folder the names in it. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
