// The folder with the database: whether it is there, whether this user may look into it, and how it is made.
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeFileError } from '../../core/file-error.ts';
import { Problem } from '../../core/problem.ts';

export const databaseFileName = 'tocsin.db';
export const masterKeyFileName = 'master.key';

/** What this user may not see is not taken for missing. */
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

/** With the folders above it, for this user alone. */
export function makeFolder(folder: string): void {
  try {
    makeEach(folder);
  } catch (error) {
    throw new Problem(
      `The data directory ${folder} cannot be created: ${describeFileError(error)}. Set TOCSIN_DATA_DIR to a folder ` +
        'that this user may write to.',
    );
  }
}

/** Not mkdir's own `recursive`: it goes round in circles where a folder such as /proc takes no others. */
function makeEach(folder: string): void {
  if (isFolder(folder)) return;
  if (dirname(folder) !== folder) makeEach(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process that starts at the same moment was first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
