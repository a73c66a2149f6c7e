// A process that signs in to an MQTT port with wrong passwords, as fast as it can, and holds further connections open
// without sending anything. Forked by startSignInFlood(); reports its progress to its parent.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connectPacket } from './embedded-raw-client.ts';

export interface FloodReport {
  /** Sign-ins that the broker refused, or for which it closed the connection. */
  refused: number;
  /** Connections that stay silent, and are open now. */
  silent: number;
}

interface FloodOrder {
  port: number;
  /** Used in turn with names that do not exist. */
  usernames: string[];
  parallel: number;
  silent: number;
}

export interface Flood {
  report(): FloodReport;
  /** Ends the sign-ins; silent connections stay until the broker closes them. */
  calm(): void;
}

export async function startSignInFlood(t: TestContext, order: FloodOrder): Promise<Flood> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(order)]);
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });
  let last: FloodReport = { refused: 0, silent: 0 };
  child.on('message', (message) => {
    last = message as FloodReport;
  });
  await once(child, 'message');
  return { report: () => last, calm: () => void child.send('calm') };
}

async function run({ port, usernames, parallel, silent }: FloodOrder): Promise<void> {
  const report: FloodReport = { refused: 0, silent: 0 };
  let isCalm = false;
  process.on('message', () => {
    isCalm = true;
  });
  for (let count = 0; count < silent; count += 1) {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      report.silent += 1;
      socket.once('close', () => {
        report.silent -= 1;
      });
    });
    socket.on('error', () => undefined).resume();
  }
  setInterval(() => process.send?.(report), 50);
  const attack = async (lane: number): Promise<void> => {
    for (let count = 0; !isCalm; count += 1) {
      const names = [`dev_${lane}x${count}`, ...usernames];
      const socket = connect({ port, host: '127.0.0.1' });
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => undefined).resume();
      socket.write(connectPacket({ username: names[count % names.length] as string, password: `wrong ${count}` }));
      await closed;
      report.refused += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, (_, lane) => attack(lane)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await run(JSON.parse(process.argv[2] as string) as FloodOrder);
