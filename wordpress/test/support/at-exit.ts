// A test that is stopped by a signal, or fails before it could clean up, must not leave anything on the machine.
import { constants } from 'node:os';

const endings = new Set<() => void>();

/** Has `end` called when this process ends, also by Ctrl-C or SIGTERM. Gives back how to call that off. */
export function atExit(end: () => void): () => void {
  if (endings.size === 0) listen();
  endings.add(end);
  return () => {
    endings.delete(end);
    if (endings.size === 0) stopListening();
  };
}

function listen(): void {
  process.on('exit', endAll);
  process.on('SIGINT', exit);
  process.on('SIGTERM', exit);
}

function stopListening(): void {
  process.off('exit', endAll);
  process.off('SIGINT', exit);
  process.off('SIGTERM', exit);
}

function endAll(): void {
  for (const end of endings) end();
}

function exit(signal: 'SIGINT' | 'SIGTERM'): void {
  process.exit(128 + constants.signals[signal]);
}
