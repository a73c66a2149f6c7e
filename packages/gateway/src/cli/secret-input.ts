import { createReadStream } from 'node:fs';
import { describeFileError } from '../core/file-error.ts';
import { Problem } from '../core/problem.ts';
import { type Arguments, UsageError } from './command.ts';

/** Larger than any key or token. Without a limit, a device such as /dev/zero would never end. */
const maxBytes = 65_536;

/**
 * Reads and trims a secret from `--NAME`, which other users of the machine can see while the command runs, or from
 * `--NAME-file`, which they cannot (`-` is standard input); undefined if both are absent.
 */
export async function readSecret(args: Arguments, name: string): Promise<string | undefined> {
  const [value, file] = [args.text(name), args.text(`${name}-file`)];
  if (value !== undefined && file !== undefined) throw new UsageError(`Pass --${name} or --${name}-file, not both.`);
  if (file === undefined) return value?.trim();
  const [stream, from] = file === '-' ? [process.stdin, 'standard input'] : [createReadStream(file), file];
  const content = await readUpTo(stream, maxBytes).catch((error: unknown) => {
    throw new Problem(`--${name}-file: ${from} cannot be read: ${describeFileError(error)}.`);
  });
  if (content === null) throw new Problem(`--${name}-file: ${from} is larger than 64 KB, so it is not a ${name}.`);
  return content.trim();
}

/** null: the stream is longer than the limit. */
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
