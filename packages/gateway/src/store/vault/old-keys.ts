// Files in which a rotation saves the old key, which older backups need.
import { chownSync, existsSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describeFileError } from '../../core/file-error.ts';
import { Problem } from '../../core/problem.ts';
import { syncPath } from '../files/sync-path.ts';
import { lockOf } from './master-key.ts';

/** Saves the keys to the file that the operator named; a file with the same content is left as it is. */
export function saveOldKeysTo(file: string, text: string, keyFile: string | null): void {
  try {
    assertNotKeyFile(keyFile, file);
    // Written before by the interrupted rotation that is resumed.
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
    writeNew(file, text);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(
      `The old key cannot be written to ${file}: ${describeFileError(error)}. Nothing was changed. Name another file.`,
    );
  }
}

/** Saves the keys to a new file beside the key file, unless one with the same content exists; returns its name. */
export function saveOldKeysBeside(keyFile: string, text: string, now: number): string {
  // Beside the target of a symbolic link, since the folder of the link may be read-only.
  const target = realpathSync(keyFile);
  const present = oldKeyFiles(keyFile).find((file) => readFileSync(file, 'utf8') === text);
  if (present !== undefined) return present;
  const name = `${target}.old-${new Date(now).toISOString().slice(0, 10)}`;
  for (let count = 1; ; count += 1) {
    const file = count === 1 ? name : `${name}-${count}`;
    try {
      writeNew(file, text);
      const { uid, gid } = statSync(target);
      if (process.getuid?.() === 0) chownSync(file, uid, gid);
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new Problem(
        `The old key cannot be saved to ${file}: ${describeFileError(error)}. Nothing was changed. Name another file with ` +
          '--old-key-to.',
      );
    }
  }
}

/** Files with old keys that rotations saved beside the key file. */
export function oldKeyFiles(keyFile: string): string[] {
  const target = existsSync(keyFile) ? realpathSync(keyFile) : keyFile;
  const prefix = `${basename(target)}.old-`;
  return readdirSync(dirname(target))
    .filter((name) => name.startsWith(prefix))
    .sort()
    .map((name) => join(dirname(target), name));
}

/** Never overwrites a file. */
function writeNew(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600, flag: 'wx', flush: true });
  syncPath(dirname(file));
}

/** The rotation replaces the key file, its draft and its lock. */
function assertNotKeyFile(keyFile: string | null, file: string): void {
  if (keyFile === null) return;
  const target = realPath(keyFile);
  if (![target, `${target}.draft`, lockOf(target)].includes(realPath(file))) return;
  throw new Problem(
    `${file} is the master key file itself; the old key would be lost there. Nothing was changed. Name another file.`,
  );
}

/** Also for a file that does not exist yet. */
function realPath(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file));
}
