// One process at a time may serve from a data directory, or replace the database in it: two servers would each keep a
// broker, and a device on one never gets what was sent to the other. Commands beside a server need no lock.
//
// The lock belongs to the operating system and ends with the process, also after kill -9 and however pids are counted in
// containers; who holds it is written beside it, for messages only.
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

/** null where the lock file cannot be made: the disk is full, or the folder read-only. Throws if another process has it. */
export function lockDataFolder(dataDir: string, purpose: Purpose): FileLock | null {
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
    // Removed first: where there is no room for the new one, a wrong one must not stay.
    rmSync(file, { force: true });
    writeFileSync(file, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  } catch {
    // A full disk. The lock holds without it; only the message to the next server says less.
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
