// Many callers and one device, counted at both ends: what was accepted, and what arrived.
import type { TestContext } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { eventually } from './eventually.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { notify } from './requests.ts';

export interface MqttDevice {
  id: string;
  mqtt: { username: string; password: string; topic: string };
}

/** A QoS 1 client with a persistent session that counts each notification once, in the order of first arrival. */
export class Receiver {
  readonly ids = new Set<string>();
  #client: MqttClient | null = null;
  readonly #device: MqttDevice;
  /** Pause between two messages. */
  pauseMs = 0;

  constructor(t: TestContext, device: MqttDevice) {
    this.#device = device;
    t.after(() => this.disconnect());
  }

  async connect(gateway: GatewayProcess): Promise<void> {
    const { username, password, topic } = this.#device.mqtt;
    this.#client = await connectAsync(gateway.line.mqtt as string, {
      ...{ username, password, clean: false, clientId: 'receiver', reconnectPeriod: 0 },
    });
    this.#client.handleMessage = ({ payload }, done) => {
      this.ids.add((JSON.parse(String(payload)) as { id: string }).id);
      if (this.pauseMs === 0) done();
      else setTimeout(done, this.pauseMs);
    };
    await this.#client.subscribeAsync(topic, { qos: 1 });
  }

  async disconnect(): Promise<void> {
    await this.#client?.endAsync(true);
    this.#client = null;
  }

  missing(ids: readonly string[]): string[] {
    return ids.filter((id) => !this.ids.has(id));
  }

  async receiveAll(ids: readonly string[], withinMs = 60_000): Promise<void> {
    await eventually(
      'everything has arrived',
      withinMs,
      () => this.missing(ids).length,
      (count) => count === 0,
    );
  }
}

export interface LoadOptions {
  callers: number;
  ms: number;
  /** Ends after this number of requests, if that is sooner. */
  most?: number;
  /** The service may be killed meanwhile: a caller without a response stops. */
  mayBeKilled?: boolean;
}

/** The ids of accepted notifications, by what the response reported. */
export class Accepted {
  readonly published: string[] = [];
  readonly scheduled: string[] = [];
  /** With the reason. */
  readonly failed: string[] = [];
  /** The ids of each caller in the order of its requests. */
  readonly byCaller: string[][] = [];

  get all(): string[] {
    return [...this.published, ...this.scheduled];
  }
}

/** Callers that send one request at a time each. `accepted` grows meanwhile. */
export async function load(
  target: { api: string; key: string },
  { callers, ms, most = Number.POSITIVE_INFINITY, mayBeKilled = false }: LoadOptions,
  accepted = new Accepted(),
): Promise<Accepted> {
  const until = performance.now() + ms;
  let sent = 0;
  const call = async (): Promise<void> => {
    const own: string[] = [];
    accepted.byCaller.push(own);
    while (performance.now() < until && sent < most) {
      sent += 1;
      const response = await notify(target, { title: 'Load' }).catch((error: unknown) => {
        if (mayBeKilled) return null;
        throw error;
      });
      if (response === null) return;
      const { body } = response;
      own.push(body.id);
      if (body.mqttPublishedCount === 1) accepted.published.push(body.id);
      else if (body.warnings.includes('redelivery_scheduled')) accepted.scheduled.push(body.id);
      else accepted.failed.push(`${body.id}: ${body.storeReason ?? body.mqttError}`);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return accepted;
}
