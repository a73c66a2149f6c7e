import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type CommandResult, type Installation, launcher } from './gateway-process.ts';

const deadlineMs = 30_000;

/** Runs `tocsin serve`, which is expected to exit with an error; one that starts nevertheless is stopped at the deadline. */
export async function serveExpectingFailure(
  installation: Installation,
  environment: Record<string, string> = {},
  wrapper: string[] = [],
): Promise<CommandResult> {
  const [command = '', ...args] = [...wrapper, process.execPath, launcher, 'serve'];
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...installation.environment, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A line on stdout reports that it is ready, so it will not fail.
  child.stdout.once('data', () => child.kill('SIGKILL'));
  const deadline = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  clearTimeout(deadline);
  return { exitCode, stdout, stderr };
}
