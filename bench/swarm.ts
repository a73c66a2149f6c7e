// What the processes that represent many clients have in common. The clients connect as fast as the gateway accepts them, as
// after a restart of it, and one that fails tries again after a pause; then arrivals are recorded.
import { setTimeout as delay } from 'node:timers/promises';
import { systemMs } from './clock.ts';

export interface ConnectJob<Client> {
  kind: 'connect';
  port: number;
  clients: readonly Client[];
}

/** Replies when this number of messages has arrived, from now on, at all clients together. */
export interface ExpectJob {
  kind: 'expect';
  arrivals: number;
}

export interface Connected {
  seconds: number;
  failedAttempts: number;
  firstFailure: string | null;
}

export interface Arrived {
  /** Of the system's clock. */
  lastAt: number;
  /** Messages that arrived at a client after a later one, or twice. */
  outOfOrder: number;
}

/** Connects a client; `arrived` takes the id of each notification that it receives. */
export type ConnectClient<Client> = (port: number, client: Client, arrived: (id: string) => void) => Promise<void>;

/**
 * Clients that are connecting at the same time. The system holds up to 4096 connections that the gateway has not accepted
 * yet; beyond that clients would measure the pauses of TCP before it tries again, up to 31 s.
 */
const connectingAtOnce = 2000;
const retryMs = 1000;
const maxAttempts = 30;

export function serveSwarm<Client>(connect: ConnectClient<Client>): void {
  let missing = 0;
  let outOfOrder = 0;

  async function connectAll({ port, clients }: ConnectJob<Client>): Promise<Connected> {
    const startedAt = performance.now();
    let failedAttempts = 0;
    let firstFailure: string | null = null;
    const connectOne = async (client: Client): Promise<void> => {
      const note = createNote();
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await connect(port, client, note);
        } catch (error) {
          if (attempt === maxAttempts) throw error;
          failedAttempts += 1;
          firstFailure ??= (error as Error).message;
          await delay(retryMs);
        }
      }
    };
    const remaining = clients.values();
    const connectNext = async (): Promise<void> => {
      for (const client of remaining) await connectOne(client);
    };
    await Promise.all(Array.from({ length: connectingAtOnce }, connectNext));
    return { seconds: (performance.now() - startedAt) / 1000, failedAttempts, firstFailure };
  }

  /** The ids of notifications increase in the order of acceptance. */
  function createNote(): (id: string) => void {
    let newest = '';
    return (id) => {
      if (id <= newest) outOfOrder += 1;
      newest = id;
      missing -= 1;
      if (missing === 0) process.send?.({ lastAt: systemMs(), outOfOrder } satisfies Arrived);
    };
  }

  process.on('message', async (job: ConnectJob<Client> | ExpectJob) => {
    if (job.kind === 'connect') process.send?.(await connectAll(job));
    else missing = job.arrivals;
  });
  process.on('disconnect', () => process.exit());
}
