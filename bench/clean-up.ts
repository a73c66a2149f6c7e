// Stops every process and server and deletes every folder that the bench created, however it ends.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const cleanUps: (() => Promise<unknown>)[] = [];
let cleaning: Promise<void> | undefined;

/** Starts a resource and registers its clean-up, also if the bench is interrupted before the resource is ready. */
export async function adopt<T>(start: () => T | Promise<T>, undo: (started: T) => unknown): Promise<T> {
  if (cleaning !== undefined) throw new Error('The bench is over.');
  const starting = Promise.try(start);
  // A start that failed has already cleaned up after itself.
  cleanUps.push(() => starting.then(undo, () => undefined));
  return starting;
}

/** Everything that is started later keeps its files in one folder, also if it is interrupted while it creates them. */
export async function useOwnFolder(): Promise<void> {
  const folder = await adopt(
    () => mkdtemp(join(tmpdir(), 'tocsin-bench-')),
    (own) => rm(own, { recursive: true, force: true }),
  );
  // PostgreSQL runs as another user and must be able to reach its own subfolder.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
}

/** Runs once, however often it is called; resolves when everything is cleaned up. */
export function cleanUp(): Promise<void> {
  cleaning ??= undoAll();
  return cleaning;
}

/** In reverse order of creation. */
async function undoAll(): Promise<void> {
  for (let undo = cleanUps.pop(); undo !== undefined; undo = cleanUps.pop()) {
    try {
      await undo();
    } catch (error) {
      console.error(`Clean-up failed: ${(error as Error).message}`);
    }
  }
}
