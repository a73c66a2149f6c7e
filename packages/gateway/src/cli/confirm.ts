// Confirmation prompt for irreversible commands on a terminal; scripts are not asked.
import { createInterface } from 'node:readline/promises';
import { Problem } from '../core/problem.ts';

export function isAtTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Rejects unless the user types the name. */
export async function confirmByName(what: string, name: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D cancel.
  const cancelled = new AbortController();
  terminal.once('SIGINT', () => cancelled.abort()).once('close', () => cancelled.abort());
  try {
    const answer = await terminal.question(`${what}\nType the name to confirm: `, { signal: cancelled.signal });
    if (answer.trim() === name) return;
  } catch (error) {
    if (!cancelled.signal.aborted) throw error;
    process.stderr.write('\n');
  } finally {
    terminal.close();
  }
  throw new Problem('Nothing was deleted.');
}
