// Persistent sessions of MQTT clients, by device. They are loaded from the store when the broker starts.
//
//             SUBSCRIBE without clean session               DISCONNECT, or connection lost
//   (none) ───────────────────────────────────▶ connected ───────────────────────────────────▶ disconnected
//      ▲                                         ▲  │                                           │    │
//      │                                         │  │        CONNECT without clean session      │    │
//      │                                         └──┼───────────────────────────────────────────┘    │
//      │        CONNECT with clean session          │                                                │
//      ├────────────────────────────────────────────┴────────────────────────────────────────────────┤
//      │  device deleted; not connected for `sessionAbsenceMs`; evicted above `sessionsPerDevice`     │
//      └─────────────────────────────────────────────────────────────────────────────────────────────┘
//
// While connected, messages go to the client through its queue; while disconnected, they wait in the store. When a session
// ends, its messages move to the queue of the device.
import type { MqttSessionName, MqttSubscription, Store } from '../../../usecases/ports/index.ts';
import { limits } from './limits.ts';
import type { Queue } from './queue.ts';
import type { Queues } from './queues.ts';
import { type DeviceTopics, grantedQos, maySubscribe, topicsOf } from './topic-access.ts';

export interface SessionsDeps {
  store: Store;
  queues: Queues;
  topicPrefix: string;
  now(): number;
  onFailed(error: unknown): void;
}

/** The subscriptions of an MQTT client of a device, and its queue. */
export class Session {
  readonly name: MqttSessionName;
  readonly topics: DeviceTopics;
  readonly subscriptions: Map<string, MqttSubscription['qos']>;
  readonly queue: Queue;
  seenAt: number;

  constructor(session: MqttSessionName, topics: DeviceTopics, queue: Queue, seenAt: number) {
    const { ownerId, deviceId, clientId } = session;
    this.name = { ownerId, deviceId, clientId };
    this.topics = topics;
    this.subscriptions = new Map();
    this.queue = queue;
    this.seenAt = seenAt;
  }

  /** The QoS of notifications to this client; null if it has not subscribed to them. */
  get qos(): MqttSubscription['qos'] | null {
    return grantedQos(this.listSubscriptions(), this.topics.notifications);
  }

  /** Whether messages are queued for it: MQTT queues none for subscriptions with QoS 0. */
  get isKept(): boolean {
    return (this.qos ?? 0) > 0;
  }

  listSubscriptions(): MqttSubscription[] {
    return [...this.subscriptions].map(([filter, qos]) => ({ filter, qos }));
  }
}

export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #byId = new Map<string, Session>();
  readonly #byDevice = new Map<string, Set<Session>>();
  /** Writes that no caller waits for. */
  readonly #background = new Set<Promise<unknown>>();

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  async load(): Promise<void> {
    for (const { subscriptions, seenAt, ...name } of await this.#deps.store.mqttSessions.list()) {
      const session = this.#add(name, seenAt);
      for (const { filter, qos } of subscriptions) session.subscriptions.set(filter, qos);
    }
  }

  find(id: string): Session | undefined {
    return this.#byId.get(id);
  }

  ofDevice(ownerId: string, deviceId: string): Session[] {
    return [...(this.#byDevice.get(deviceId) ?? [])].filter(({ name }) => name.ownerId === ownerId);
  }

  async subscribe(name: MqttSessionName, wanted: readonly MqttSubscription[]): Promise<void> {
    const known = this.#byId.get(sessionId(name));
    const session = known ?? this.#add(name, this.#deps.now());
    for (const { filter, qos } of wanted) {
      // aedes passes the whole packet, including refused filters.
      const hasSpace = session.subscriptions.has(filter) || session.subscriptions.size < limits.filtersPerClient;
      if (hasSpace && maySubscribe(session.topics, filter)) session.subscriptions.set(filter, qos);
    }
    try {
      await this.#save(session);
    } catch (error) {
      if (known === undefined) this.#drop(session);
      throw error;
    }
    if (known === undefined) await this.#evict(name);
  }

  async unsubscribe(id: string, filters: readonly string[]): Promise<void> {
    const session = this.#byId.get(id);
    if (session === undefined) return;
    for (const filter of filters) session.subscriptions.delete(filter);
    await this.#save(session);
  }

  /** Its queued messages move to the queue of the device. */
  async delete(id: string): Promise<void> {
    const session = this.#byId.get(id);
    if (session === undefined) return;
    const { ownerId, deviceId } = session.name;
    await session.queue.flush();
    this.#drop(session);
    const moved = await this.#deps.store.mqttSessions.delete(session.name);
    this.#deps.queues.ofDevice(ownerId, deviceId).rowsAdded(moved);
  }

  deleteOfDevice(ownerId: string, deviceId: string): void {
    for (const session of this.ofDevice(ownerId, deviceId)) this.#drop(session);
    this.#deps.queues.deleteOfDevice(ownerId, deviceId);
  }

  /** Records when the client of a session disconnected. */
  disconnected(session: Session): void {
    session.seenAt = this.#deps.now();
    const write = this.#deps.store.mqttSessions
      .touch([session.name], session.seenAt)
      .catch(this.#deps.onFailed)
      .finally(() => this.#background.delete(write));
    this.#background.add(write);
  }

  /** Ends sessions whose device was deleted or whose client has not connected for too long at `at`; returns how many. */
  async purge(at = this.#deps.now()): Promise<number> {
    const { store, queues, now } = this.#deps;
    const attached = [...this.#byId.values()].filter(({ queue }) => queue.isAttached);
    await store.mqttSessions.touch(
      attached.map(({ name }) => name),
      now(),
    );
    const before = new Set(this.#byId.values());
    const purged = await store.mqttSessions.purge(at - limits.sessionAbsenceMs);
    const left = new Set((await store.mqttSessions.list()).map(sessionId));
    for (const session of before) if (!left.has(sessionId(session.name))) this.#drop(session);
    await queues.purge();
    return purged;
  }

  async flush(): Promise<void> {
    await this.#deps.queues.flush();
    await Promise.all(this.#background);
  }

  #add(name: MqttSessionName, seenAt: number): Session {
    const { topicPrefix, queues } = this.#deps;
    const topics = topicsOf(topicPrefix, name.ownerId, name.deviceId);
    const session = new Session(name, topics, queues.of(name), seenAt);
    this.#byId.set(sessionId(name), session);
    const ofDevice = this.#byDevice.get(name.deviceId) ?? new Set();
    this.#byDevice.set(name.deviceId, ofDevice.add(session));
    return session;
  }

  #drop(session: Session): void {
    const { deviceId } = session.name;
    this.#deps.queues.delete(session.queue);
    const id = sessionId(session.name);
    // A new session may have the same name already.
    if (this.#byId.get(id) === session) this.#byId.delete(id);
    const ofDevice = this.#byDevice.get(deviceId);
    ofDevice?.delete(session);
    if (ofDevice?.size === 0) this.#byDevice.delete(deviceId);
  }

  #save(session: Session): Promise<void> {
    const subscriptions = session.listSubscriptions();
    return this.#deps.store.mqttSessions.save({ ...session.name, subscriptions, seenAt: this.#deps.now() });
  }

  /** A device with too many sessions loses the one that was disconnected longest. */
  async #evict({ ownerId, deviceId }: MqttSessionName): Promise<void> {
    const all = this.ofDevice(ownerId, deviceId);
    const absent = all.filter(({ queue }) => !queue.isAttached).sort((a, b) => a.seenAt - b.seenAt);
    const surplus = absent.slice(0, Math.max(0, all.length - limits.sessionsPerDevice));
    await Promise.all(surplus.map(({ name }) => this.delete(sessionId(name))));
  }
}

/** The client id for aedes. Device ids contain no slash, so no client can name a session of another device. */
export function sessionId({ deviceId, clientId }: Pick<MqttSessionName, 'deviceId' | 'clientId'>): string {
  return `${deviceId}/${clientId}`;
}
