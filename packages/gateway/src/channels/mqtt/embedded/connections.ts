// Who is connected, and as what.
import type { Duplex } from 'node:stream';
import type { Client } from 'aedes';
import { rateLimitKey } from '../../../core/rate-limit-key.ts';
import type { MqttSessionName, MqttSubscription } from '../../../usecases/ports/index.ts';
import type { PacketGauge } from './guarded-stream.ts';
import { limits } from './limits.ts';
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
  readonly onSignedIn: () => void;
  readonly closed: Promise<void>;
  /** Once it has signed in. */
  identity: Identity | null = null;
  isDropReported = false;
  isPublishReported = false;
  /** Once it may be sent messages. */
  isReady = false;
  /** As which client it wants to sign in; null when that is not acceptable. */
  clientId: string | null = null;
  /** What it subscribed to, now or in an earlier connection of its session. */
  readonly filters = new Map<string, MqttSubscription['qos']>();
  /** The generation of the store at which its device was last found to be allowed. */
  checkedGeneration: number | null = null;

  constructor(
    stream: Duplex,
    address: string,
    client: Client,
    gauge: PacketGauge,
    onSignedIn: () => void = () => undefined,
  ) {
    this.stream = stream;
    this.address = address;
    this.client = client;
    this.gauge = gauge;
    this.onSignedIn = onSignedIn;
    this.closed = new Promise((resolve) => stream.once('close', () => resolve()));
  }
}

interface Strangers {
  total: number;
  idle: Set<Connection>;
}

export class Connections {
  readonly #all = new Set<Connection>();
  readonly #byClient = new WeakMap<Client, Connection>();
  readonly #byDevice = new Map<string, Set<Connection>>();
  /** Those that have not signed in, by limit unit. */
  readonly #strangers = new Map<string, Strangers>();
  /** Of all strangers those that have not sent CONNECT, oldest first. */
  readonly #idle = new Set<Connection>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#all.values();
  }

  /**
   * Whether there is room for another connection from this address. Where there is none, the oldest connection that has
   * not even sent CONNECT makes room: a peer that only holds connections open must not keep devices out.
   */
  makeRoom(address: string): boolean {
    const { total, idle } = this.#strangers.get(rateLimitKey(address)) ?? noStrangers;
    const isAddressFull = total >= limits.strangersPerAddress;
    if (!isAddressFull && this.#all.size < limits.connections) return true;
    const [oldest] = isAddressFull ? idle : this.#idle;
    if (oldest === undefined) return false;
    this.remove(oldest);
    oldest.stream.destroy();
    return true;
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    this.#byClient.set(connection.client, connection);
    const unit = rateLimitKey(connection.address);
    const strangers = this.#strangers.get(unit) ?? { total: 0, idle: new Set() };
    this.#strangers.set(unit, strangers);
    strangers.total += 1;
    strangers.idle.add(connection);
    this.#idle.add(connection);
  }

  /** CONNECT has come, and its credentials are about to be checked. */
  beginSignIn(connection: Connection): void {
    this.#idle.delete(connection);
    this.#strangers.get(rateLimitKey(connection.address))?.idle.delete(connection);
  }

  identify(connection: Connection, identity: Identity): void {
    this.#forgetStranger(connection);
    connection.identity = identity;
    const ofDevice = this.#byDevice.get(identity.deviceId) ?? new Set();
    this.#byDevice.set(identity.deviceId, ofDevice.add(connection));
  }

  remove(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
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

  #forgetStranger(connection: Connection): void {
    this.beginSignIn(connection);
    const unit = rateLimitKey(connection.address);
    const strangers = this.#strangers.get(unit);
    if (strangers === undefined) return;
    strangers.total -= 1;
    if (strangers.total === 0) this.#strangers.delete(unit);
  }
}

const none: ReadonlySet<Connection> = new Set();
const noStrangers: Strangers = { total: 0, idle: new Set() };
