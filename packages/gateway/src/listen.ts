// Taking ports, and giving them back in order.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Problem } from './core/problem.ts';

/** How long a stop waits for requests that are under way. */
const drainMs = 10_000;

/** Gives the address that was really taken; a failure says which variable to change. */
export async function listen(server: Server, host: string, port: number, variable: string): Promise<string> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, resolve);
    });
  } catch (error) {
    throw listenProblem(error, port, variable);
  }
  const { address, port: taken, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}/`;
}

export function listenProblem(error: unknown, port: number, variable: string): Problem {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new Problem(`Port ${port} is taken. Stop what uses it, or set ${variable} to another (0: any).`);
  }
  return new Problem(`Cannot listen on port ${port} (${variable}): ${message}`);
}

/** Resolves when the last answer is out; whoever is still sending after `drainMs` is cut off. */
export async function drain(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that was busy when the stop began turns idle later, and Node would keep it open for the next request.
  const closeIdle = setInterval(() => server.closeIdleConnections(), 50);
  const cutOff = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(cutOff);
}
