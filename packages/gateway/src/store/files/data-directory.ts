// The data directory: existence, permissions and creation.
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeFileError } from '../../core/file-error.ts';
import { Problem } from '../../core/problem.ts';

export const databaseFileName = 'tocsin.db';
export const masterKeyFileName = 'master.key';

/** Throws if the user may not read the file, which does not mean that it is missing. */
export function fileExists(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    if (code !== 'EACCES') throw new Problem(`${file} cannot be read: ${describeFileError(error)}.`);
    throw new Problem(`${file} cannot be read by this user. Run this as the user that runs the server.`);
  }
}

/** Creates the folder and its parents, accessible to this user only. */
export function makeFolder(folder: string): void {
  try {
    makeEach(folder);
  } catch (error) {
    throw new Problem(
      `The data directory ${folder} cannot be created: ${describeFileError(error)}. Set TOCSIN_DATA_DIR to a folder ` +
        'that this user can write to.',
    );
  }
}

/** Not with the option `recursive` of mkdir, which loops forever below folders such as /proc. */
function makeEach(folder: string): void {
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeEach(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // A concurrently started process created it first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
