// All connections: those of devices by device, those that have not sent CONNECT by address.
import type { Duplex } from 'node:stream';
import type { Client } from 'aedes';
import { rateLimitKey } from '../../../core/rate-limit-key.ts';
import type { MqttSessionName, MqttSubscription } from '../../../usecases/ports/index.ts';
import type { PacketInspector } from './guarded-stream.ts';
import { limits } from './limits.ts';
import type { DeviceTopics } from './topic-access.ts';

export interface Identity extends MqttSessionName {
  secretDigest: string;
  topics: DeviceTopics;
}

export class Connection {
  readonly stream: Duplex;
  readonly address: string;
  /** The key that rate limits have for its address. */
  readonly addressKey: string;
  readonly client: Client;
  readonly inspector: PacketInspector;
  readonly onSignedIn: () => void;
  readonly closed: Promise<void>;
  /** null until it has signed in. */
  identity: Identity | null = null;
  isDropReported = false;
  isPublishReported = false;
  /** aedes has sent CONNACK and restored the subscriptions, so messages may be sent. */
  isReady = false;
  /** The client id in its CONNECT; null if it is not acceptable. */
  clientId: string | null = null;
  /** Its subscriptions, including those of earlier connections of its session. */
  readonly filters = new Map<string, MqttSubscription['qos']>();
  /** The generation of the store at the last check that its device may be connected. */
  checkedGeneration: number | null = null;

  constructor(
    stream: Duplex,
    address: string,
    client: Client,
    inspector: PacketInspector,
    onSignedIn: () => void = () => undefined,
  ) {
    this.stream = stream;
    this.address = address;
    this.addressKey = rateLimitKey(address);
    this.client = client;
    this.inspector = inspector;
    this.onSignedIn = onSignedIn;
    this.closed = new Promise((resolve) => stream.once('close', () => resolve()));
  }
}

export class Connections {
  readonly #all = new Set<Connection>();
  readonly #byClient = new WeakMap<Client, Connection>();
  readonly #byDevice = new Map<string, Set<Connection>>();
  /** Connections that have not sent CONNECT, oldest first. */
  readonly #idle = new Set<Connection>();
  /** The same by the key of their address. */
  readonly #idleByAddress = new Map<string, Set<Connection>>();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#all.values();
  }

  /**
   * Whether another connection from this address is accepted. At the limit, the oldest connection that has not sent
   * CONNECT is closed for it, so that a peer that only holds connections open does not lock devices out.
   */
  makeRoom(address: string): boolean {
    const ofAddress = this.#idleByAddress.get(rateLimitKey(address)) ?? none;
    const isAddressFull = ofAddress.size >= limits.idlePerAddress;
    if (!isAddressFull && this.#all.size < limits.connections) return true;
    const [oldest] = isAddressFull ? ofAddress : this.#idle;
    if (oldest === undefined) return false;
    this.remove(oldest);
    oldest.stream.destroy();
    return true;
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    this.#byClient.set(connection.client, connection);
    this.#idle.add(connection);
    const ofAddress = this.#idleByAddress.get(connection.addressKey) ?? new Set();
    this.#idleByAddress.set(connection.addressKey, ofAddress.add(connection));
  }

  /** The peer has sent CONNECT, and its credentials will be checked. */
  beginSignIn(connection: Connection): void {
    this.#removeIdle(connection);
  }

  identify(connection: Connection, identity: Identity): void {
    connection.identity = identity;
    const ofDevice = this.#byDevice.get(identity.deviceId) ?? new Set();
    this.#byDevice.set(identity.deviceId, ofDevice.add(connection));
  }

  remove(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    this.#removeIdle(connection);
    if (connection.identity === null) return;
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

  #removeIdle(connection: Connection): void {
    if (!this.#idle.delete(connection)) return;
    const ofAddress = this.#idleByAddress.get(connection.addressKey);
    ofAddress?.delete(connection);
    if (ofAddress?.size === 0) this.#idleByAddress.delete(connection.addressKey);
  }
}

const none: ReadonlySet<Connection> = new Set();
