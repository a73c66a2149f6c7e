// All sessions that outlive their connections, by device; they were in the store before this process began.
import type { MqttSessionName, MqttSubscription, MqttWaiting, Store } from '../../../gateway/ports.ts';
import { limits } from './limits.ts';
import { Session, type SessionParts } from './session.ts';
import { maySubscribe, topicsOf } from './topic-access.ts';

/** So many messages are put into a queue between two looks at its length. */
const trimEvery = 1000;

export interface SessionsParts extends SessionParts {
  store: Store;
  topicPrefix: string;
  now(): number;
}

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #byId = new Map<string, Session>();
  readonly #byDevice = new Map<string, Set<Session>>();
  readonly #untrimmed = new WeakMap<Session, number>();
  /** Writes that nobody waits for. */
  readonly #loose = new Set<Promise<unknown>>();

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  async load(): Promise<void> {
    for (const { subscriptions, seenAt, ...name } of await this.#parts.store.listMqttSessions()) {
      this.#add(name, subscriptions, seenAt);
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
    const session = known ?? this.#add(name, [], this.#parts.now());
    for (const { filter, qos } of wanted) {
      // aedes hands over the whole packet, refused filters and all.
      const isRoom = session.subscriptions.has(filter) || session.subscriptions.size < limits.filtersPerClient;
      if (isRoom && maySubscribe(session.topics, filter)) session.subscriptions.set(filter, qos);
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

  async delete(id: string): Promise<void> {
    const session = this.#byId.get(id);
    if (session === undefined) return;
    this.#drop(session);
    await this.#parts.store.deleteMqttSession(session.name);
  }

  async deleteOfDevice(ownerId: string, deviceId: string): Promise<void> {
    await Promise.all(this.ofDevice(ownerId, deviceId).map(({ name }) => this.delete(sessionId(name))));
  }

  /** Resolves once the message is durably in the queue of each. */
  async enqueue(due: readonly { session: Session; qos: MqttWaiting['qos'] }[], notificationId: string): Promise<void> {
    await this.#parts.store.enqueueMqtt(
      due.map(({ session, qos }) => ({ session: session.name, notificationId, qos })),
    );
    for (const { session } of due) {
      session.arrived();
      this.#trimNowAndThen(session);
    }
  }

  /** Notes when the client of a session was last there. */
  left(session: Session): void {
    session.seenAt = this.#parts.now();
    this.#inBackground(this.#parts.store.touchMqttSessions([session.name], session.seenAt));
  }

  /** Ends sessions whose device is gone or whose client, at the time `at`, stayed away too long; says how many. */
  async purge(at = this.#parts.now()): Promise<number> {
    const { store, now } = this.#parts;
    const attached = [...this.#byId.values()].filter(({ isAttached }) => isAttached);
    await store.touchMqttSessions(
      attached.map(({ name }) => name),
      now(),
    );
    const before = new Set(this.#byId.values());
    const purged = await store.purgeMqttSessions(at - limits.sessionAbsenceMs);
    const left = new Set((await store.listMqttSessions()).map(sessionId));
    for (const session of before) if (!left.has(sessionId(session.name))) this.#drop(session);
    return purged;
  }

  async flush(): Promise<void> {
    await Promise.all([...this.#byId.values()].map((session) => session.flush()));
    await Promise.all(this.#loose);
    for (const session of this.#byId.values()) session.dispose();
  }

  #add(name: MqttSessionName, subscriptions: readonly MqttSubscription[], seenAt: number): Session {
    const topics = topicsOf(this.#parts.topicPrefix, name.ownerId, name.deviceId);
    const session = new Session(name, topics, subscriptions, seenAt, this.#parts);
    this.#byId.set(sessionId(name), session);
    const ofDevice = this.#byDevice.get(name.deviceId) ?? new Set();
    this.#byDevice.set(name.deviceId, ofDevice.add(session));
    return session;
  }

  #drop(session: Session): void {
    const { deviceId } = session.name;
    session.dispose();
    const id = sessionId(session.name);
    // Under the same name there may be another one by now.
    if (this.#byId.get(id) === session) this.#byId.delete(id);
    const ofDevice = this.#byDevice.get(deviceId);
    ofDevice?.delete(session);
    if (ofDevice?.size === 0) this.#byDevice.delete(deviceId);
  }

  #save(session: Session): Promise<void> {
    const subscriptions = session.listSubscriptions();
    return this.#parts.store.saveMqttSession({ ...session.name, subscriptions, seenAt: this.#parts.now() });
  }

  /** A device with too many sessions loses the one whose client was away longest. */
  async #evict({ ownerId, deviceId }: MqttSessionName): Promise<void> {
    const all = this.ofDevice(ownerId, deviceId);
    const absent = all.filter(({ isAttached }) => !isAttached).sort((a, b) => a.seenAt - b.seenAt);
    const surplus = absent.slice(0, Math.max(0, all.length - limits.sessionsPerDevice));
    await Promise.all(surplus.map(({ name }) => this.delete(sessionId(name))));
  }

  #trimNowAndThen(session: Session): void {
    const untrimmed = (this.#untrimmed.get(session) ?? trimEvery) + 1;
    this.#untrimmed.set(session, untrimmed < trimEvery ? untrimmed : 0);
    if (untrimmed < trimEvery) return;
    this.#inBackground(this.#parts.store.trimMqttWaiting(session.name, limits.waitingPerSession));
  }

  #inBackground(work: Promise<unknown>): void {
    const settled = work.catch(this.#parts.onFailed).finally(() => this.#loose.delete(settled));
    this.#loose.add(settled);
  }
}

/** Under this id aedes knows the client: ids of devices hold no slash, so nobody can name a session of another device. */
export function sessionId({ deviceId, clientId }: Pick<MqttSessionName, 'deviceId' | 'clientId'>): string {
  return `${deviceId}/${clientId}`;
}
