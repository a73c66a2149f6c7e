// Shared by the commands that copy a store: low process priority, and progress output.
import { constants, setPriority } from 'node:os';
import type { Progress } from '../store/copy/transfer.ts';
import { counted } from './command.ts';

const progressIntervalMs = 500;

/** Lowers the priority of this process, so that a server on the same machine is not slowed down. */
export function yieldToServer(): void {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** Shows a row counter if stderr is a terminal; prints nothing otherwise. */
export function showProgress(isWanted: boolean): { show(progress: Progress): void; end(): void } {
  let shownAt = 0;
  let isShown = false;
  return {
    show: ({ table, rows }) => {
      const now = performance.now();
      if (!isWanted || !process.stderr.isTTY || now - shownAt < progressIntervalMs) return;
      shownAt = now;
      isShown = true;
      process.stderr.write(`\r\x1b[K${table}: ${rows.toLocaleString('en')}`);
    },
    end: () => {
      if (isShown) process.stderr.write('\r\x1b[K');
    },
  };
}

/** The tables that an operator knows by name; all others are internal. */
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
