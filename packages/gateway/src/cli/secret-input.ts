import { createReadStream } from 'node:fs';
import { describeFileError } from '../core/file-error.ts';
import { Problem } from '../core/problem.ts';
import { type Arguments, UsageError } from './command.ts';

/** Far more than any key or token has. Devices such as /dev/zero never end. */
const mostBytes = 65_536;

/**
 * A secret that is given by `--NAME`, which other users of the machine can see while the command runs, or by `--NAME-file`,
 * which they cannot; `-` is standard input. Without white space at its ends; undefined: not given.
 */
export async function readSecret(args: Arguments, name: string): Promise<string | undefined> {
  const [value, file] = [args.text(name), args.text(`${name}-file`)];
  if (value !== undefined && file !== undefined) throw new UsageError(`Give --${name} or --${name}-file, not both.`);
  if (file === undefined) return value?.trim();
  const [stream, from] = file === '-' ? [process.stdin, 'standard input'] : [createReadStream(file), file];
  const content = await readUpTo(stream, mostBytes).catch((error: unknown) => {
    throw new Problem(`--${name}-file: ${from} cannot be read: ${describeFileError(error)}.`);
  });
  if (content === null) throw new Problem(`--${name}-file: ${from} has more than 64 KB, so it is no ${name}.`);
  return content.trim();
}

/** null: there is more. */
async function readUpTo(stream: AsyncIterable<Buffer>, limit: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop closes the stream.
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > limit) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
