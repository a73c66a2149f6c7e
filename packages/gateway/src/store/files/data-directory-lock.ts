// One process at a time may serve from a data directory, or replace the database in it: each of two servers would run a
// broker, and a device connected to one would not get the messages of the other. Commands need no lock.
//
// The lock is released by the operating system when the process ends, also after kill -9, and does not depend on pids, which
// differ between containers. The holder is written to a file beside it, for messages only.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../../core/problem.ts';
import { type FileLock, lockFile } from './file-lock.ts';

export const lockFileName = 'server.lock';
export const holderFileName = 'server.pid';

type Purpose = 'server' | 'restore';

interface Holder {
  pid: number;
  host: string;
  purpose: Purpose;
  since: string;
}

/** null if the lock file cannot be created, on a full or read-only disk. Throws if another process has the lock. */
export function lockDataDirectory(dataDir: string, purpose: Purpose): FileLock | null {
  const lock = lockFile(join(dataDir, lockFileName));
  const file = join(dataDir, holderFileName);
  if (lock === 'taken') throw new Problem(describe(dataDir, readHolder(file)));
  if (lock === null) return null;
  writeHolder(file, { pid: process.pid, host: hostname(), purpose, since: new Date().toISOString() });
  return {
    release: () => {
      rmSync(file, { force: true });
      lock.release();
    },
  };
}

function writeHolder(file: string, holder: Holder): void {
  try {
    // Removed first, so that no outdated file remains if there is no space for the new one.
    rmSync(file, { force: true });
    writeFileSync(file, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  } catch {
    // A full disk. The lock works without the file; only messages are less specific.
  }
}

/** null if it is missing or cannot be read. */
function readHolder(file: string): Holder | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder;
  } catch {
    return null;
  }
}

function describe(dataDir: string, holder: Holder | null): string {
  const who = holder === null ? '' : ` (pid ${holder.pid} on ${holder.host}, since ${holder.since})`;
  if (holder?.purpose === 'restore') {
    return `A restore${who} into the data directory ${dataDir} is running. Wait until it has ended.`;
  }
  return (
    `Another Tocsin server${who} is using the data directory ${dataDir}. Stop it first, or set TOCSIN_DATA_DIR to another ` +
    'folder. To serve requests with several processes, set TOCSIN_WORKERS.'
  );
}
