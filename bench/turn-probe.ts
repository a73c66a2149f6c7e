// Loaded into a server with --import: measures the longest turn of its event loop, in processor time of the main thread, which
// other programs on the machine disturb far less than elapsed time. It listens on a socket named by the process.
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

export interface LongestTurn {
  /** Of the longest turn, in milliseconds. */
  turnMs: number;
  /** Of all turns. */
  totalMs: number;
}

export function probePath(pid: number): string {
  return join(tmpdir(), `turns-${pid}.sock`);
}

/** Measures from a connection until the client has ended its side of it. */
function listen(): void {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const startedAt = processorMs();
    let lastAt = startedAt;
    let turnMs = 0;
    // A timer is due once in every turn that took longer than its interval.
    const timer = setInterval(() => {
      const now = processorMs();
      turnMs = Math.max(turnMs, now - lastAt);
      lastAt = now;
    }, 1);
    socket.on('error', () => clearInterval(timer));
    socket.resume().on('end', () => {
      clearInterval(timer);
      socket.end(JSON.stringify({ turnMs, totalMs: processorMs() - startedAt } satisfies LongestTurn));
    });
    socket.write('\n');
  });
  const path = probePath(process.pid);
  server.listen(path).unref();
  process.on('exit', () => rmSync(path, { force: true }));
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

if (isMainThread && process.argv.includes('serve')) listen();
