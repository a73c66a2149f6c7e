// What the commands that copy a store have in common: they make way for the server, and tell how far they are.
import { constants, setPriority } from 'node:os';
import type { Progress } from '../store/copy/transfer.ts';
import { counted } from './command.ts';

const everyMs = 500;

/** A server on the same machine goes first. */
export function yieldToServer(): void {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** A line on a terminal that counts up; nothing anywhere else, where nobody watches it. */
export function showProgress(isWanted: boolean): { show(progress: Progress): void; end(): void } {
  let shownAt = 0;
  let isShown = false;
  return {
    show: ({ table, rows }) => {
      const now = performance.now();
      if (!isWanted || !process.stderr.isTTY || now - shownAt < everyMs) return;
      shownAt = now;
      isShown = true;
      process.stderr.write(`\r\x1b[K${table}: ${rows.toLocaleString('en')}`);
    },
    end: () => {
      if (isShown) process.stderr.write('\r\x1b[K');
    },
  };
}

/** Those that an operator knows by name; the others are their bookkeeping. */
const knownTables: readonly [table: string, noun: string][] = [
  ['owners', 'owner'],
  ['api_keys', 'API key'],
  ['devices', 'device'],
  ['push_targets', 'push target'],
  ['notifications', 'notification'],
];

export function describeCounts(tables: readonly { name: string; rows: number }[]): string {
  const total = tables.reduce((sum, { rows }) => sum + rows, 0);
  const counts = knownTables.map(([table, noun]) =>
    counted(tables.find(({ name }) => name === table)?.rows ?? 0, noun),
  );
  return `${counts.join(', ')}; ${counted(total, 'row')} in all`;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
