// Runs programs as leaders of process groups, so that their child processes end with them, also on Ctrl-C.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { eventually } from '@tocsin/test-support/eventually.ts';

/** Grace period for the other processes of a group after its leader has exited. */
const lingerMs = 10_000;
const running = new Set<ChildProcess>();
let interruption: NodeJS.Signals | null = null;

/** Forwards SIGINT and SIGTERM to the running groups instead of exiting, so that this process can clean up. */
export function endGroupsOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      interruption ??= signal;
      process.exitCode = 128 + constants.signals[interruption];
      for (const child of running) signalGroup(child, 'SIGTERM');
    });
  }
}

export function isInterrupted(): boolean {
  return interruption !== null;
}

/** Runs a program, and prints and returns its output. Throws if it fails or if processes of its group remain. */
export async function runInGroup(
  command: string,
  args: string[],
  environment: Record<string, string> = {},
  cwd?: string,
): Promise<string> {
  if (interruption !== null) throw new Error(`Interrupted by ${interruption}.`);
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  running.add(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    process.stdout.write(chunk);
    output += chunk;
  });
  const exit = once(child, 'exit').finally(() => running.delete(child));
  const [[status]] = await Promise.all([exit, exit.then(() => waitForGroup(child)), once(child, 'close')]);
  if (interruption !== null) throw new Error(`Interrupted by ${interruption}.`);
  if (status !== 0) throw new Error(`${command} ${args[0] ?? ''} exited with ${status}.`);
  return output;
}

async function waitForGroup(child: ChildProcess): Promise<void> {
  try {
    await eventually(
      'all processes of the group have exited',
      lingerMs,
      () => signalGroup(child, 0),
      (found) => !found,
    );
  } catch (error) {
    signalGroup(child, 'SIGKILL');
    throw error;
  }
}

/** Returns false if the group has no processes. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false;
  try {
    return process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}
