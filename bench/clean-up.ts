// What the bench started ends with it, however it ends: processes, servers, folders.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const undoings: (() => Promise<unknown>)[] = [];
let cleaning: Promise<void> | undefined;

/** Starts something and sees to its end, also where the bench is interrupted before it is ready. */
export async function adopt<T>(start: () => T | Promise<T>, undo: (started: T) => unknown): Promise<T> {
  if (cleaning !== undefined) throw new Error('The bench is over.');
  const starting = Promise.try(start);
  // What could not be started has been cleared away by whoever tried.
  undoings.push(() => starting.then(undo, () => undefined));
  return starting;
}

/** Everything that is started later has its files in one folder, also what is cut off while it makes them. */
export async function useOwnFolder(): Promise<void> {
  const folder = await adopt(
    () => mkdtemp(join(tmpdir(), 'tocsin-bench-')),
    (own) => rm(own, { recursive: true, force: true }),
  );
  // PostgreSQL runs as another user, and has to find its way to what is its own.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
}

/** Once, whoever asks for it: resolves when all is done. */
export function cleanUp(): Promise<void> {
  cleaning ??= undoAll();
  return cleaning;
}

/** Last first. */
async function undoAll(): Promise<void> {
  for (let undo = undoings.pop(); undo !== undefined; undo = undoings.pop()) {
    try {
      await undo();
    } catch (error) {
      console.error(`Something is left behind: ${(error as Error).message}`);
    }
  }
}
