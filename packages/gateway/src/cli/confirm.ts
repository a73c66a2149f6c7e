// A question before what cannot be undone, for people; a script has thought about it before.
import { createInterface } from 'node:readline/promises';
import { Problem } from '../core/problem.ts';

export function isAtTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Rejects unless the name is typed. */
export async function confirmByName(what: string, name: string): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D are a no.
  const left = new AbortController();
  terminal.once('SIGINT', () => left.abort()).once('close', () => left.abort());
  try {
    const answer = await terminal.question(`${what}\nType the name to go on: `, { signal: left.signal });
    if (answer.trim() === name) return;
  } catch (error) {
    if (!left.signal.aborted) throw error;
    process.stderr.write('\n');
  } finally {
    terminal.close();
  }
  throw new Problem('Nothing was deleted.');
}
