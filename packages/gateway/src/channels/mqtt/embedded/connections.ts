// Who is connected, and as what.
import type { Duplex } from 'node:stream';
import type { Client } from 'aedes';
import { limitUnit } from '../../../core/limit-unit.ts';
import type { MqttSessionName, MqttSubscription } from '../../../gateway/ports.ts';
import type { PacketGauge } from './guarded-stream.ts';
import type { DeviceTopics } from './topic-access.ts';

export interface Identity extends MqttSessionName {
  secretDigest: string;
  topics: DeviceTopics;
}

export class Connection {
  readonly stream: Duplex;
  readonly address: string;
  readonly client: Client;
  readonly gauge: PacketGauge;
  readonly closed: Promise<void>;
  /** Once it has signed in. */
  identity: Identity | null = null;
  /** As which client it wants to sign in; null when that is not acceptable. */
  clientId: string | null = null;
  /** Of a clean session; the others are kept by their session. */
  readonly filters = new Map<string, MqttSubscription['qos']>();
  /** The generation of the store at which its device was last found to be allowed. */
  checkedGeneration: number | null = null;

  constructor(stream: Duplex, address: string, client: Client, gauge: PacketGauge) {
    this.stream = stream;
    this.address = address;
    this.client = client;
    this.gauge = gauge;
    this.closed = new Promise((resolve) => stream.once('close', () => resolve()));
  }
}

export class Connections {
  readonly #all = new Set<Connection>();
  readonly #byClient = new WeakMap<Client, Connection>();
  readonly #byDevice = new Map<string, Set<Connection>>();
  readonly #strangers = new Map<string, number>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#all.values();
  }

  strangersAt(address: string): number {
    return this.#strangers.get(limitUnit(address)) ?? 0;
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    this.#byClient.set(connection.client, connection);
    this.#strangers.set(limitUnit(connection.address), this.strangersAt(connection.address) + 1);
  }

  identify(connection: Connection, identity: Identity): void {
    this.#forgetStranger(connection);
    connection.identity = identity;
    const ofDevice = this.#byDevice.get(identity.deviceId) ?? new Set();
    this.#byDevice.set(identity.deviceId, ofDevice.add(connection));
  }

  remove(connection: Connection): void {
    this.#all.delete(connection);
    if (connection.identity === null) {
      this.#forgetStranger(connection);
      return;
    }
    const { deviceId } = connection.identity;
    const ofDevice = this.#byDevice.get(deviceId);
    ofDevice?.delete(connection);
    if (ofDevice?.size === 0) this.#byDevice.delete(deviceId);
  }

  of(client: Client): Connection | undefined {
    return this.#byClient.get(client);
  }

  ofDevice(deviceId: string): ReadonlySet<Connection> {
    return this.#byDevice.get(deviceId) ?? none;
  }

  deviceIds(): string[] {
    return [...this.#byDevice.keys()];
  }

  #forgetStranger({ address }: Connection): void {
    const left = this.strangersAt(address) - 1;
    if (left > 0) this.#strangers.set(limitUnit(address), left);
    else this.#strangers.delete(limitUnit(address));
  }
}

const none: ReadonlySet<Connection> = new Set();
