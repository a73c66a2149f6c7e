// Sources of the master key: the environment, or a file that the first start creates. During a rotation there are several
// keys, newest first.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  linkSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describeFileError } from '../../core/file-error.ts';
import {
  formatMasterKeys,
  type GivenMasterKeys,
  masterKeyLength,
  parseMasterKeys,
} from '../../core/master-key-format.ts';
import { Problem } from '../../core/problem.ts';
import { lockFile } from '../files/file-lock.ts';
import { syncPath } from '../files/sync-path.ts';

export interface MasterKeySource {
  /** The source in messages. */
  readonly name: string;
  /** null: a variable, which does not change while the process runs. */
  readonly file: string | null;
  /** Newest first; empty if the file does not exist. */
  read(): readonly KeyObject[];
  /** Creates the key file of a new installation, if this process manages it. */
  create(): void;
}

/** The configured keys; default: the key file in the data directory. */
export function masterKeySource(given: GivenMasterKeys | null, ownFile: string): MasterKeySource {
  const create = (): void => {
    if (given === null) createKeyFile(ownFile);
  };
  if (given !== null && given.file === null) {
    return { name: 'TOCSIN_MASTER_KEY', file: null, read: () => given.keys, create };
  }
  const file = given?.file ?? ownFile;
  return { name: file, file, read: () => readKeyFile(file), create };
}

export function makeMasterKey(): KeyObject {
  return createSecretKey(randomBytes(masterKeyLength));
}

/** Replaces the file atomically, and keeps its mode and owner. */
export function writeKeyFile(name: string, keys: readonly KeyObject[]): void {
  // If the file is a symbolic link, its target is replaced.
  const file = realpathSync(name);
  const draft = `${file}.draft`;
  const { mode, uid, gid } = statSync(file);
  try {
    rmSync(draft, { force: true });
    writeFileSync(draft, formatMasterKeys(keys), { mode: 0o600, flag: 'wx', flush: true });
    chmodSync(draft, mode & 0o777);
    if (process.getuid?.() === 0) chownSync(draft, uid, gid);
    renameSync(draft, file);
    syncPath(dirname(file));
  } finally {
    rmSync(draft, { force: true });
  }
}

/** The lock of processes that write the file. */
export function lockOf(file: string): string {
  return `${file}.lock`;
}

/** Removes drafts of a killed process, which contain keys in plain text, but not those of a running process. */
export function removeAbandonedDrafts(file: string): void {
  const folder = dirname(file);
  let lock: ReturnType<typeof lockFile> = null;
  try {
    const drafts = readdirSync(folder).filter((name) => isDraft(name, basename(file)));
    if (drafts.length > 0) lock = lockFile(lockOf(file));
    if (lock === 'taken') return;
    for (const name of drafts) rmSync(join(folder, name), { force: true });
  } catch {
    // Problems of the folder are reported when the database is opened; the next start tries again.
  } finally {
    if (lock !== 'taken') lock?.release();
  }
}

function isDraft(name: string, keyFile: string): boolean {
  return name.startsWith(`${keyFile}.`) && /^(draft|\d+)$/.test(name.slice(keyFile.length + 1));
}

function readKeyFile(file: string): KeyObject[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new Problem(`The master key file ${file} cannot be read: ${describeFileError(error)}.`);
  }
  const keys = parseMasterKeys(text);
  if (keys === undefined) throw new Problem(`${file} does not hold a master key (32 bytes as base64 or hex).`);
  return keys;
}

/** Creates the file atomically: neither an interruption nor a concurrent start leaves or sees an empty file. */
function createKeyFile(file: string): void {
  const draft = `${file}.${process.pid}`;
  const lock = lockFile(lockOf(file));
  try {
    // On disk before anything is encrypted with it.
    writeFileSync(draft, formatMasterKeys([makeMasterKey()]), { mode: 0o600, flush: true });
    linkSync(draft, file);
    syncPath(dirname(file));
  } catch (error) {
    // A concurrently started process created it first.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw new Problem(`The master key file ${file} cannot be created: ${(error as Error).message}`);
  } finally {
    rmSync(draft, { force: true });
    if (lock !== 'taken') lock?.release();
  }
}
