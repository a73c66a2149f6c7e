// The servers that the bench loads in turn. The first is the gateway of this checkout, the one that the others are compared with.
import { join } from 'node:path';
import type { Child } from './child.ts';
import { type BenchEnvironment, createEnvironment, startBroker } from './environment.ts';
import { type GatewayUnderTest, startGateway } from './gateway.ts';
import { startEcho, startListener, startSketch } from './helpers.ts';
import type { Server } from './measure.ts';
import type { Options } from './options.ts';
import { startPeers } from './peers.ts';
import { notificationRequest } from './request.ts';

export interface ServersUnderTest {
  servers: readonly [Server, ...Server[]];
  gateway: GatewayUnderTest;
  /** Everything that runs Tocsin, with the names of the servers that load it. */
  gateways: readonly (StartedGateway & { names: readonly string[] })[];
}

export async function startServers(options: Options): Promise<ServersUnderTest> {
  const own = await startOne(options);
  const { nodes, key } = own.gateway;
  const first = toServer('gateway', own, options);
  const others: Server[] = [];
  const gateways = [{ ...own, names: ['gateway', 'one node'] }];
  const add = (name: string, started: StartedGateway): void => {
    gateways.push({ ...started, names: [name] });
    others.push(toServer(name, started, options));
  };
  if (nodes.length > 1) others.push({ ...toServer('one node', own, options, 1), listener: first.listener });
  if (options.against !== null) {
    const program = [join(options.against, 'packages', 'gateway', 'bin', 'tocsin.js')];
    add('other', await startOne(options, program));
  }
  if (options.mqtt === 'mosquitto' && nodes.length === 1) {
    add('embedded', await startOne({ ...options, mqtt: 'embedded' }));
  }
  if (options.hasPeers) others.push(...(await startPeers(options.mqtt !== 'none')));
  const sketch = await startSketch(key);
  others.push(toBaseline('sketch', sketch, key, '"stored":true'));
  others.push(toBaseline('echo', await startEcho(), key, '"payload":{'));
  return { servers: [first, ...others], gateway: own.gateway, gateways };
}

export interface StartedGateway {
  gateway: GatewayUnderTest;
  environment: BenchEnvironment;
  listener: Child | null;
}

async function startOne(options: Options, program?: string[]): Promise<StartedGateway> {
  const broker = options.mqtt === 'mosquitto' ? await startBroker() : null;
  const variables = broker === null ? {} : { TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${broker.port}` };
  const environment = await createEnvironment(options, variables, program);
  if (broker !== null) environment.services.Mosquitto = broker.pid;
  const hasDevice = options.mqtt !== 'none';
  const gateway = await startGateway(environment.installation, { hasDevice, nodes: options.nodes });
  return { gateway, environment, listener: hasDevice ? await startListener(gateway.device) : null };
}

function toServer(
  name: string,
  { gateway, environment, listener }: StartedGateway,
  { mqtt }: Options,
  nodeCount = gateway.nodes.length,
): Server {
  const loaded = gateway.nodes.slice(0, nodeCount);
  return {
    name,
    pids: loaded.map(({ pid }) => pid),
    targets: loaded.map(({ port }) => ({ port, request: notificationRequest(port, gateway.key) })),
    mustContain: mqtt === 'none' ? '"stored":true' : '"mqttPublishedCount":1',
    listener,
    services: environment.services,
  };
}

function toBaseline(name: string, { port, pid }: { port: number; pid: number }, key: string, mustContain: string) {
  return {
    ...{ name, pids: [pid], targets: [{ port, request: notificationRequest(port, key) }] },
    ...{ mustContain, listener: null, services: {} },
  };
}
