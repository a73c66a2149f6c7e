// Runs as a separate process: the embedded broker, which reports its memory usage.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedBroker } from '../../gateway/src/channels/mqtt/embedded/index.ts';
import { openStore } from '../../gateway/src/store/open-store.ts';

export interface BrokerProcessReport {
  tcpPort: number;
  webSocketPort: number;
  /** The maximum since the last report. */
  peakRss: number;
}

const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
const store = await openStore({ dataDir, masterKey: null }, 'create');
const broker = await createEmbeddedBroker({ store, topicPrefix: 'tocsin', now: Date.now });
const tcpPort = Number(new URL(await broker.listen('127.0.0.1', 0)).port);
const http = createServer();
http.on('upgrade', (request, socket, head) => broker.handleUpgrade(request, socket, head));
http.listen(0, '127.0.0.1', report);

let peakRss = 0;
const watch = setInterval(() => {
  peakRss = Math.max(peakRss, process.memoryUsage.rss());
}, 5);

function report(): void {
  const { port: webSocketPort } = http.address() as AddressInfo;
  globalThis.gc?.();
  process.send?.({ tcpPort, webSocketPort, peakRss: Math.max(peakRss, process.memoryUsage.rss()) });
  peakRss = 0;
}

process.on('message', report);
process.once('disconnect', async () => {
  clearInterval(watch);
  await broker.close();
  http.closeAllConnections();
  http.close();
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
});
