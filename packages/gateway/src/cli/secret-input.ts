import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { describeFileError } from '../core/file-error.ts';
import { Problem } from '../core/problem.ts';
import { type Arguments, UsageError } from './command.ts';

/**
 * A secret that is given by `--NAME`, which other users of the machine can see while the command runs, or by `--NAME-file`,
 * which they cannot; `-` is standard input. Without white space at its ends; undefined: not given.
 */
export async function readSecret(args: Arguments, name: string): Promise<string | undefined> {
  const [value, file] = [args.text(name), args.text(`${name}-file`)];
  if (value !== undefined && file !== undefined) throw new UsageError(`Give --${name} or --${name}-file, not both.`);
  if (file === undefined) return value?.trim();
  if (file === '-') return (await readAll(process.stdin)).trim();
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new Problem(`--${name}-file: ${file} cannot be read: ${describeFileError(error)}.`);
  }
}
