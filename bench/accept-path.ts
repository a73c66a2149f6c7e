// npm run bench: the gateway, which authenticates, encrypts and syncs every request to disk, beside a sketch of that work,
// bare node:http, and on request another version or other products. All are loaded in turn in one run, so that their
// ratios are comparable between machines.
import { availableParallelism } from 'node:os';
import { scrape } from '@tocsin/test-support/scrape.ts';
import { startChild } from './helpers.ts';
import { type Measurement, measure } from './measure.ts';
import type { Options } from './options.ts';
import { residentMegabytes } from './processes.ts';
import type { Report, Round, StoreWork } from './report.ts';
import { notificationBody } from './request.ts';
import { orderOf } from './rounds.ts';
import { type StartedGateway, startServers } from './servers.ts';

export async function measureAcceptPath(options: Options, say: (line: string) => void): Promise<Report> {
  const { rounds: count, seconds, connections, mqtt, store: kind, workers, nodes } = options;
  const { servers, gateway, gateways } = await startServers(options);
  const idle = servers.map(async ({ name, pids }) => [name, await residentMegabytes(pids)] as const);
  const idleMegabytes = Object.fromEntries(await Promise.all(idle));
  const load = await startChild('./load.ts');
  say('warming up …');
  const warmUp = Math.max(...connections);
  for (const server of servers) await measure(load, server, warmUp, seconds / 2);
  const counts = await Promise.all(gateways.map(watchStore));
  const rounds: Round[] = [];
  for (let index = 0; index < count; index += 1) {
    for (const callers of connections) {
      // The order changes from round to round, because later servers find a warmer, or a throttled, machine.
      const measured = new Map<string, Measurement>();
      for (const server of orderOf(servers, index)) {
        measured.set(server.name, await measure(load, server, callers, seconds));
      }
      rounds.push({
        callers,
        measurements: Object.fromEntries(servers.map(({ name }) => [name, measured.get(name) as Measurement])),
      });
    }
    say(`round ${index + 1} of ${count}`);
  }
  const work: Record<string, StoreWork> = {};
  for (const [index, { names }] of gateways.entries()) {
    const measured = rounds.flatMap(({ measurements }) => names.flatMap((name) => measurements[name] ?? []));
    const notifications = measured.reduce((sum, { requests }) => sum + requests, 0);
    work[names[0] as string] = (await counts[index]?.(notifications)) as StoreWork;
  }
  return {
    kind: 'accept',
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    fsyncReachesDisk: gateway.fsyncReachesDisk,
    requestBytes: Buffer.byteLength(notificationBody),
    options: { rounds: count, seconds, connections, mqtt, store: kind, workers, nodes },
    idleMegabytes,
    rounds,
    work,
  };
}

/** Counts commits and writes of the store from now on, per notification. */
async function watchStore({ gateway: { nodes }, environment: { store } }: StartedGateway) {
  const readCounters = async () => {
    const scrapes = await Promise.all(nodes.map((node) => scrape(node.process)));
    const sum = (name: string): number => scrapes.reduce((total, each) => total + (each.sum(name) ?? 0), 0);
    return {
      writes: sum('tocsin_store_batch_size_sum'),
      commits: sum('tocsin_store_batch_size_count'),
      walBytes: await store.walBytes(),
      transactions: await store.transactions(),
    };
  };
  const before = await readCounters();
  return async (notifications: number): Promise<StoreWork> => {
    const after = await readCounters();
    const perNotification = (counter: 'walBytes' | 'transactions'): number | null => {
      const [start, end] = [before[counter], after[counter]];
      return start === null || end === null ? null : (end - start) / notifications;
    };
    return {
      writesPerCommit: (after.writes - before.writes) / (after.commits - before.commits),
      commitsPerNotification: (after.commits - before.commits) / notifications,
      walBytesPerNotification: perNotification('walBytes'),
      transactionsPerNotification: perNotification('transactions'),
    };
  };
}
