// One session that outlives its connection: what it subscribed to, what is on its way to it, and the pump that sends the
// rest. The store holds what waits; here is only what was sent and is not confirmed.
import type { Client } from 'aedes';
import type { MqttSessionName, MqttSubscription, MqttWaiting, Store } from '../../../gateway/ports.ts';
import { StoreUnavailable } from '../../../gateway/ports.ts';
import { limits } from './limits.ts';
import type { Payloads } from './payloads.ts';
import { type DeviceTopics, grantedQos } from './topic-access.ts';

const retryMs = 1000;
const maxMessageId = 65_535;

export interface SessionParts {
  store: Pick<Store, 'listMqttWaiting' | 'listMqttInFlight' | 'updateMqttWaiting' | 'removeMqttWaiting'>;
  payloads: Payloads;
  onFailed(error: unknown): void;
}

type InFlight = MqttWaiting & { messageId: number };

/** A packet as aedes takes it from a persistence. */
export type OutgoingPacket =
  | { cmd: 'pubrel'; messageId: number }
  | {
      cmd: 'publish';
      topic: string;
      payload: Buffer;
      qos: MqttWaiting['qos'];
      retain: false;
      dup: true;
      messageId: number;
    };

export class Session {
  readonly name: MqttSessionName;
  readonly topics: DeviceTopics;
  readonly subscriptions: Map<string, MqttSubscription['qos']>;
  seenAt: number;
  readonly #parts: SessionParts;
  readonly #inFlight = new Map<number, InFlight>();
  /** Notifications in flight, and those whose row is still being removed. */
  readonly #known = new Set<string>();
  #confirmed: string[] = [];
  #removing: Promise<void> | null = null;
  #isLoaded = false;
  #client: Client | null = null;
  #isPumping = false;
  #arrivals = 0;
  #sending: InFlight | null = null;
  #lastMessageId = Math.floor(Math.random() * maxMessageId);
  #retry: NodeJS.Timeout | undefined;

  constructor(
    name: MqttSessionName,
    topics: DeviceTopics,
    subscriptions: readonly MqttSubscription[],
    seenAt: number,
    parts: SessionParts,
  ) {
    this.name = name;
    this.topics = topics;
    this.subscriptions = new Map(subscriptions.map(({ filter, qos }) => [filter, qos]));
    this.seenAt = seenAt;
    this.#parts = parts;
  }

  get isAttached(): boolean {
    return this.#client !== null;
  }

  /** The QoS at which notifications reach it; null when it did not subscribe to them. */
  get qos(): MqttSubscription['qos'] | null {
    return grantedQos(this.listSubscriptions(), this.topics.notifications);
  }

  listSubscriptions(): MqttSubscription[] {
    return [...this.subscriptions].map(([filter, qos]) => ({ filter, qos }));
  }

  /** What a client that is back must get again, with the ids it knows (MQTT-4.4.0-1), before anything new. */
  async *unconfirmed(): AsyncGenerator<OutgoingPacket> {
    if (!this.#isLoaded) {
      for (const waiting of await this.#parts.store.listMqttInFlight(this.name)) {
        if (waiting.messageId !== null) this.#add({ ...waiting, messageId: waiting.messageId });
      }
      this.#isLoaded = true;
    }
    const entries = [...this.#inFlight.values()].sort((a, b) => (a.notificationId < b.notificationId ? -1 : 1));
    for (const entry of entries) {
      const { messageId, qos, state } = entry;
      if (state === 'pubrel') {
        yield { cmd: 'pubrel', messageId };
        continue;
      }
      const payload = await this.#payloadOf(entry);
      if (payload === null) continue;
      yield { cmd: 'publish', topic: this.topics.notifications, payload, qos, retain: false, dup: true, messageId };
    }
  }

  /** From now on the client gets what waits and what arrives. */
  attach(client: Client): void {
    this.#client = client;
    void this.#pump();
  }

  detach(client: Client): void {
    if (this.#client === client) this.#client = null;
  }

  /** A message for this session is in the store. */
  arrived(): void {
    this.#arrivals += 1;
    void this.#pump();
  }

  /** aedes asks before it writes a message that the pump gave it: the id and the QoS are ours. */
  prepare(packet: { messageId?: number; qos?: number }): void {
    if (this.#sending === null) return;
    packet.messageId = this.#sending.messageId;
    packet.qos = this.#sending.qos;
  }

  /** PUBREC. Durable before PUBREL goes out: after that the client no longer knows the id. */
  async received(messageId: number): Promise<void> {
    const entry = this.#inFlight.get(messageId);
    if (entry === undefined || entry.state === 'pubrel') return;
    const { notificationId } = entry;
    await this.#parts.store.updateMqttWaiting(this.name, [{ notificationId, messageId, state: 'pubrel' }]);
    entry.state = 'pubrel';
  }

  /** PUBACK or PUBCOMP. */
  completed(messageId: number): void {
    const entry = this.#inFlight.get(messageId);
    if (entry === undefined) return;
    this.#settle(entry);
    void this.#pump();
  }

  /** Resolves when every confirmation so far is in the store, or could not be put there. */
  async flush(): Promise<void> {
    await this.#removing;
  }

  /** The end: nothing more is sent or retried. */
  dispose(): void {
    this.#client = null;
    this.#confirmed = [];
    clearTimeout(this.#retry);
  }

  #add(entry: InFlight): void {
    this.#inFlight.set(entry.messageId, entry);
    this.#known.add(entry.notificationId);
  }

  #settle(entry: InFlight): void {
    this.#inFlight.delete(entry.messageId);
    this.#confirmed.push(entry.notificationId);
    this.#removing ??= this.#removeConfirmed();
  }

  /** Confirmations that come while others are being written go into the next write together. */
  async #removeConfirmed(): Promise<void> {
    let batch: string[] = [];
    try {
      while (this.#confirmed.length > 0) {
        batch = this.#confirmed;
        this.#confirmed = [];
        await this.#parts.store.removeMqttWaiting(this.name, batch);
        for (const notificationId of batch) this.#known.delete(notificationId);
      }
    } catch (error) {
      this.#confirmed = batch.concat(this.#confirmed);
      this.#retryLater(error);
    } finally {
      this.#removing = null;
    }
  }

  /** null: the notification is no more, and neither is the entry. */
  async #payloadOf(entry: InFlight): Promise<Buffer | null> {
    const payload = await this.#parts.payloads.find(this.name.ownerId, entry.notificationId);
    if (payload === null) this.#settle(entry);
    return payload;
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      for (;;) {
        const client = this.#client;
        const room = limits.inFlight - this.#inFlight.size;
        if (client === null || room <= 0) return;
        const arrivals = this.#arrivals;
        const fresh = await this.#findFresh(room);
        if (client !== this.#client) continue;
        if (fresh.length > 0) await this.#sendAll(client, fresh);
        else if (arrivals === this.#arrivals) return;
      }
    } catch (error) {
      this.#retryLater(error);
    } finally {
      this.#isPumping = false;
    }
  }

  async #findFresh(room: number): Promise<MqttWaiting[]> {
    // A row that is confirmed and removed while the store reads is in neither set afterwards: remember it as it was.
    const knownBefore = new Set(this.#known);
    const waiting = await this.#parts.store.listMqttWaiting(this.name, knownBefore.size + room);
    return waiting.filter(({ notificationId: id }) => !knownBefore.has(id) && !this.#known.has(id)).slice(0, room);
  }

  async #sendAll(client: Client, fresh: readonly MqttWaiting[]): Promise<void> {
    const entries = fresh.map((waiting) => {
      const entry: InFlight = { ...waiting, messageId: this.#nextMessageId() };
      this.#add(entry);
      return entry;
    });
    const unsent = new Set(entries);
    try {
      // A QoS 2 message must come with the same id after a restart, or the client takes it for another one. With QoS 1
      // a message may come twice anyway, so its id is not worth a write.
      await this.#parts.store.updateMqttWaiting(
        this.name,
        entries.filter(({ qos }) => qos === 2),
      );
      for (const entry of entries) {
        const payload = await this.#payloadOf(entry);
        if (client !== this.#client) return;
        unsent.delete(entry);
        if (payload !== null) await this.#send(client, entry, payload);
      }
    } catch (error) {
      // A client that came in the meantime has got them among the unconfirmed.
      if (client === this.#client) for (const entry of unsent) this.#forget(entry);
      throw error;
    }
  }

  async #send(client: Client, entry: InFlight, payload: Buffer): Promise<void> {
    this.#sending = entry;
    const { topics } = this;
    const packet = {
      cmd: 'publish',
      topic: topics.notifications,
      payload,
      qos: entry.qos,
      retain: false,
      dup: false,
    } as const;
    await new Promise<void>((resolve) => client.publish(packet, () => resolve()));
    this.#sending = null;
  }

  #forget(entry: InFlight): void {
    this.#inFlight.delete(entry.messageId);
    this.#known.delete(entry.notificationId);
  }

  #nextMessageId(): number {
    do this.#lastMessageId = (this.#lastMessageId % maxMessageId) + 1;
    while (this.#inFlight.has(this.#lastMessageId));
    return this.#lastMessageId;
  }

  #retryLater(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#parts.onFailed(error);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (this.#confirmed.length > 0) this.#removing ??= this.#removeConfirmed();
      void this.#pump();
    }, retryMs).unref();
  }
}
