// Several nodes as an operator runs them: each with its own data directory, on one PostgreSQL, one broker and one SMTP server.
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { GatewayProcess, Installation } from './gateway-process.ts';
import { install } from './install.ts';
import { Mosquitto, mosquittoObstacle } from './mosquitto.ts';
import { Postgres, postgresObstacle } from './postgres.ts';
import type { Obstacle } from './requires.ts';

export interface Cluster {
  postgres: Postgres;
  databaseUrl: string;
  mosquitto: Mosquitto;
  /** For the command line, and for further nodes. */
  installation: Installation;
  nodes: GatewayProcess[];
  key: string;
  ownerId: string;
  deviceId: string;
  topic: string;
  /** Starts another node with its own data directory. */
  join(): Promise<GatewayProcess>;
}

export function clusterObstacle(): Obstacle {
  return postgresObstacle() ?? mosquittoObstacle();
}

export async function startCluster(
  t: TestContext,
  size: number,
  environment: Record<string, string> = {},
): Promise<Cluster> {
  const postgres = await Postgres.start();
  t.after(() => postgres.stop());
  const mosquitto = await Mosquitto.start();
  t.after(() => mosquitto.stop());
  const databaseUrl = await postgres.createDatabase();
  const shared = {
    TOCSIN_DATABASE_URL: databaseUrl,
    TOCSIN_MASTER_KEY: randomBytes(32).toString('base64'),
    TOCSIN_MQTT_URL: `mqtt://127.0.0.1:${mosquitto.port}`,
    ...environment,
  };
  const join = async (): Promise<GatewayProcess> => {
    const another = await install(t, shared);
    return another.serve();
  };
  const installation = await install(t, shared);
  const nodes = [await installation.serve()];
  while (nodes.length < size) nodes.push(await join());
  const { firstRun } = (nodes[0] as GatewayProcess).line;
  if (firstRun === undefined) throw new Error('The first node of a new cluster makes the first owner.');
  const { owner: ownerId, key, device } = firstRun;
  const topic = `tocsin/${ownerId}/${device.id}/notifications`;
  return { postgres, databaseUrl, mosquitto, installation, nodes, key, ownerId, deviceId: device.id, topic, join };
}
