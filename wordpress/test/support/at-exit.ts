// Clean-up at exit, so that a test that is interrupted by a signal or fails early leaves no files or processes.
import { constants } from 'node:os';

const cleanUps = new Set<() => void>();

/** Registers a function that runs when this process exits, including by SIGINT or SIGTERM. Returns a function that cancels it. */
export function atExit(cleanUp: () => void): () => void {
  if (cleanUps.size === 0) listen();
  cleanUps.add(cleanUp);
  return () => {
    cleanUps.delete(cleanUp);
    if (cleanUps.size === 0) stopListening();
  };
}

function listen(): void {
  process.on('exit', runAll);
  process.on('SIGINT', exit);
  process.on('SIGTERM', exit);
}

function stopListening(): void {
  process.off('exit', runAll);
  process.off('SIGINT', exit);
  process.off('SIGTERM', exit);
}

function runAll(): void {
  for (const cleanUp of cleanUps) cleanUp();
}

function exit(signal: 'SIGINT' | 'SIGTERM'): void {
  process.exit(128 + constants.signals[signal]);
}
