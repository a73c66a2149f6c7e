// npm run bench: the gateway, which authenticates, encrypts and syncs every request to disk, beside a sketch of that work,
// bare node:http, and on request another version or other products. All are loaded in turn in one run, so that their
// ratios are comparable between machines.
import { availableParallelism } from 'node:os';
import { scrape } from '@tocsin/test-support/scrape.ts';
import type { StoreUnderTest } from './environment.ts';
import type { GatewayUnderTest } from './gateway.ts';
import { startChild } from './helpers.ts';
import { measureHostile } from './hostile.ts';
import { type Measurement, measure } from './measure.ts';
import type { Options } from './options.ts';
import type { Report, Round, StoreWork } from './report.ts';
import { notificationBody } from './request.ts';
import { orderOf } from './rounds.ts';
import { startServers } from './servers.ts';

export async function measureAcceptPath(options: Options, say: (line: string) => void): Promise<Report> {
  const { rounds: count, seconds, connections, mqtt, store: kind, workers, nodes } = options;
  const { servers, gateway, environment } = await startServers(options);
  const load = await startChild('./load.ts');
  say('warming up …');
  const warmUp = Math.max(...connections);
  for (const server of servers) await measure(load, server, warmUp, seconds / 2);
  const countWork = await watchStore(gateway, environment.store);
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
  const ofOwnGateway = new Set([servers[0].name, 'one node']);
  const work = await countWork(
    rounds
      .flatMap(({ measurements }) => Object.entries(measurements))
      .reduce((sum, [name, { requests }]) => sum + (ofOwnGateway.has(name) ? requests : 0), 0),
  );
  say('hostile bodies …');
  const [{ port }] = gateway.nodes;
  return {
    kind: 'accept',
    measuredAt: new Date().toISOString(),
    node: process.versions.node,
    processors: availableParallelism(),
    fsyncReachesDisk: gateway.fsyncReachesDisk,
    requestBytes: Buffer.byteLength(notificationBody),
    options: { rounds: count, seconds, connections, mqtt, store: kind, workers, nodes },
    rounds,
    work,
    hostile: await measureHostile({ port, key: gateway.key }),
  };
}

/** Counts commits and writes of the store from now on, per notification. */
async function watchStore({ nodes }: GatewayUnderTest, store: StoreUnderTest) {
  const readCounters = async () => {
    const scrapes = await Promise.all(nodes.map((node) => scrape(node.process)));
    const sum = (name: string): number => scrapes.reduce((total, each) => total + (each.sum(name) ?? 0), 0);
    return {
      writes: sum('tocsin_store_batch_size_sum'),
      commits: sum('tocsin_store_batch_size_count'),
      walBytes: await store.walBytes(),
    };
  };
  const before = await readCounters();
  return async (notifications: number): Promise<StoreWork> => {
    const after = await readCounters();
    return {
      writesPerCommit: (after.writes - before.writes) / (after.commits - before.commits),
      commitsPerNotification: (after.commits - before.commits) / notifications,
      walBytesPerNotification:
        after.walBytes === null || before.walBytes === null ? null : (after.walBytes - before.walBytes) / notifications,
    };
  };
}
