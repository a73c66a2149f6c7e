// Where a rotation keeps the key that it replaces: backups from before open with that key alone.
import { chownSync, existsSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describeFileError } from '../../core/file-error.ts';
import { Problem } from '../../core/problem.ts';
import { syncPath } from '../files/sync-path.ts';
import { lockOf } from './master-key.ts';

/** Writes the keys to the file that the operator named; one that holds them already is left as it is. */
export function saveOldKeysTo(file: string, text: string, keyFile: string | null): void {
  try {
    refusePlaceOfKeys(keyFile, file);
    // A rotation that goes on finds what it wrote before.
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
    writeNew(file, text);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(
      `The old key cannot be written to ${file}: ${describeFileError(error)}. Nothing was changed. Name another file.`,
    );
  }
}

/** Writes them to a new file beside the key file, unless one there holds them already; says which it is. */
export function saveOldKeysBeside(keyFile: string, text: string, now: number): string {
  // Beside the file itself: a link to it may stand where nothing can be written.
  const place = realpathSync(keyFile);
  const present = oldKeyFiles(keyFile).find((file) => readFileSync(file, 'utf8') === text);
  if (present !== undefined) return present;
  const name = `${place}.old-${new Date(now).toISOString().slice(0, 10)}`;
  for (let count = 1; ; count += 1) {
    const file = count === 1 ? name : `${name}-${count}`;
    try {
      writeNew(file, text);
      const { uid, gid } = statSync(place);
      if (process.getuid?.() === 0) chownSync(file, uid, gid);
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new Problem(
        `The old key cannot be kept in ${file}: ${describeFileError(error)}. Nothing was changed. Name another file with ` +
          '--old-key-to.',
      );
    }
  }
}

/** Those that rotations have kept beside the key file. */
export function oldKeyFiles(keyFile: string): string[] {
  const place = existsSync(keyFile) ? realpathSync(keyFile) : keyFile;
  const prefix = `${basename(place)}.old-`;
  return readdirSync(dirname(place))
    .filter((name) => name.startsWith(prefix))
    .sort()
    .map((name) => join(dirname(place), name));
}

/** Never over a file that is there. */
function writeNew(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600, flag: 'wx', flush: true });
  syncPath(dirname(file));
}

/** What stands there is replaced by the rotation itself. */
function refusePlaceOfKeys(keyFile: string | null, file: string): void {
  if (keyFile === null) return;
  const place = realPlace(keyFile);
  if (![place, `${place}.draft`, lockOf(place)].includes(realPlace(file))) return;
  throw new Problem(
    `${file} is where the master key itself is kept; the old key would be lost there. Nothing was changed. Name another file.`,
  );
}

/** Also of a file that is not there yet. */
function realPlace(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file));
}
