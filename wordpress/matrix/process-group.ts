// The programs that a row runs, each the head of a process group: whatever it starts ends with it, also on Ctrl-C.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { eventually } from '@tocsin/test-support/eventually.ts';

/** How long programs may take to end after the one that started them. */
const lingerMs = 10_000;
const running = new Set<ChildProcess>();
let interruption: NodeJS.Signals | null = null;

/** From now on Ctrl-C and SIGTERM end what runs instead of this process, which then can clean up. */
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

/** Shows what the program says and gives it back. An error if it fails, or if others of its group do not end with it. */
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
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    process.stdout.write(chunk);
    said += chunk;
  });
  const exit = once(child, 'exit').finally(() => running.delete(child));
  const [[status]] = await Promise.all([exit, exit.then(() => groupIsGone(child)), once(child, 'close')]);
  if (interruption !== null) throw new Error(`Interrupted by ${interruption}.`);
  if (status !== 0) throw new Error(`${command} ${args[0] ?? ''} ended with ${status}.`);
  return said;
}

async function groupIsGone(child: ChildProcess): Promise<void> {
  try {
    await eventually(
      'every process that it started has ended',
      lingerMs,
      () => signalGroup(child, 0),
      (found) => !found,
    );
  } catch (error) {
    signalGroup(child, 'SIGKILL');
    throw error;
  }
}

/** false when nobody is left in it. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false;
  try {
    return process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}
