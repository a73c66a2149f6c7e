// Why a database file cannot be used, and what to do: the messages of SQLite do not say.
import { accessSync, closeSync, constants, openSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isTooManyFiles, tooManyFiles } from '../../core/file-error.ts';
import type { StoreUnavailable } from '../../usecases/ports/index.ts';

export type Cause = 'full' | 'read-only' | 'permission' | 'files' | 'held' | 'damaged' | 'unknown';

/** Primary result codes, https://sqlite.org/rescode.html */
const heldCodes = [5, 6];
const damagedCodes = [11, 26];
const fullCode = 13;

/** The space that SQLite needs at least to open a database: the shared memory file and some of the log. */
const probeBytes = 128 * 1024;

/** `error.cause` is the primary result code of SQLite, if there is one. */
export function causeOfFailure(file: string, error: StoreUnavailable): Cause {
  const code = typeof error.cause === 'number' ? error.cause : undefined;
  // The thread could not be started; descriptors may be free again by now.
  if (isTooManyFiles(error)) return 'files';
  if (code !== undefined && heldCodes.includes(code)) return 'held';
  if (code !== undefined && damagedCodes.includes(code)) return 'damaged';
  return probe(file) ?? (code === fullCode ? 'full' : 'unknown');
}

export function adviceFor(cause: Cause, file: string): string {
  const folder = dirname(file);
  switch (cause) {
    case 'full':
      return `The disk of ${folder} is full. Free some space; no restore is needed.`;
    case 'read-only':
      return `${folder} is on a read-only file system. Remount it read-write, or set TOCSIN_DATA_DIR to another folder.`;
    case 'permission':
      return `Permission denied: this user cannot write to ${folder} or to a file in it. Run this as the owner of the files, or change their owner (chown).`;
    case 'files':
      return tooManyFiles;
    case 'held':
      return 'Another process has locked it; end that process.';
    case 'damaged':
      return 'It is damaged: restore it from a backup.';
    case 'unknown':
      return 'Check the system log for disk errors. If the database is damaged, restore it from a backup.';
  }
}

const causes: Readonly<Record<string, Cause>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EROFS: 'read-only',
  EACCES: 'permission',
  EPERM: 'permission',
  EMFILE: 'files',
  ENFILE: 'files',
};

/** Repeats the file operations of SQLite to get the error of the operating system. */
function probe(file: string): Cause | undefined {
  const draft = join(dirname(file), `.probe-${process.pid}`);
  try {
    for (const each of [file, `${file}-wal`, `${file}-shm`]) requireWritable(each);
    requireFreeDescriptors(dirname(file));
    const handle = openSync(draft, 'wx', 0o600);
    try {
      let written = 0;
      while (written < probeBytes) written += writeSync(handle, Buffer.alloc(probeBytes - written));
    } finally {
      closeSync(handle);
      rmSync(draft, { force: true });
    }
    return undefined;
  } catch (error) {
    return causes[(error as NodeJS.ErrnoException).code ?? ''];
  }
}

/** Three files of two connections, and some for the modules of the threads. */
const neededDescriptors = 12;

function requireFreeDescriptors(folder: string): void {
  const handles: number[] = [];
  try {
    while (handles.length < neededDescriptors) handles.push(openSync(folder, 'r'));
  } finally {
    for (const handle of handles) closeSync(handle);
  }
}

function requireWritable(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
