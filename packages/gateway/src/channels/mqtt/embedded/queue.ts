// One queue of the embedded broker: the messages for one session, or for a device none of whose clients keeps a session.
//
//                 enqueued (durable)          room in the window             PUBACK, PUBCOMP, or QoS 0 written
//   publisher ──────────────────────▶ ready ───────────────────▶ in flight ──────────────────────────────────▶ receipt
//                                       ▲                            │
//            the store, page by page ───┘◀───────────────────────────┘
//       (after a connection, and when more arrives than fits in memory)      (connection lost: sent again)
//
// The store holds every message until its receipt is written. While a client keeps up, messages go to it straight from
// memory; when it falls behind, `isBehind` is set, and the rest is read from the store in order.
import type { Qos } from '@tocsin/contract';
import {
  type MqttQueueName,
  type MqttQueueRepository,
  type MqttReceipt,
  StoreUnavailable,
} from '../../../usecases/ports/index.ts';
import type { FindPayload } from './find-payload.ts';
import { limits } from './limits.ts';
import type { Outlet } from './outlet.ts';
import { encodePublish, encodePubrel } from './publish-packet.ts';

const retryMs = 1000;
/** The upper half of the ids is for copies that no queue follows up: see `outlet.ts`. */
const maxMessageId = 0x7fff;
/** Messages read from the store at a time. */
const pageSize = 50;
/** Messages, and bytes of them, that are kept in memory for a client that is a little slower than the publishers. */
const maxReady = 1000;
const maxReadyBytes = 2 * 1024 * 1024;
/** Bytes that are handed to the socket at a time. */
const writeBytes = 64 * 1024;

export interface QueueParts {
  rows: Pick<MqttQueueRepository, 'list' | 'listInFlight' | 'update' | 'confirm' | 'remove'>;
  findPayload: FindPayload;
  now(): number;
  onFailed(error: unknown): void;
  /** Messages were removed from the queue: it may have room again. */
  onRemoved(queue: Queue): void;
  /** Messages were removed because their notification was deleted. */
  onExpired(count: number): void;
}

interface Ready {
  notificationId: string;
  qos: Qos;
  payload: Buffer;
}

interface InFlight {
  notificationId: string;
  messageId: number;
  qos: Qos;
  state: 'publish' | 'pubrel';
}

export class Queue {
  readonly name: MqttQueueName;
  /** Rows in the store, with those that are being written. */
  length: number;
  readonly #topic: string;
  readonly #parts: QueueParts;
  #ready: Ready[] = [];
  #readyBytes = 0;
  readonly #inFlight = new Map<number, InFlight>();
  /** Notifications that are ready or in flight, or whose row is still being removed. */
  readonly #known = new Set<string>();
  /** The store holds messages that were never in memory. */
  #isBehind = true;
  /** The highest id that was in memory since the last reset: what the store has beyond it is new. */
  #cursor = '';
  /** How often reading started over from the first row. */
  #resets = 0;
  #arrivals = 0;
  #confirmed: MqttReceipt[] = [];
  #expired: string[] = [];
  #removing: Promise<void> | null = null;
  #outlet: Outlet | null = null;
  #hasToResend = false;
  #isLoaded = false;
  #isPumping = false;
  #isScheduled = false;
  #lastMessageId = Math.floor(Math.random() * maxMessageId);
  #retry: NodeJS.Timeout | undefined;
  #isDisposed = false;

  constructor(name: MqttQueueName, topic: string, length: number, parts: QueueParts) {
    this.name = name;
    this.#topic = topic;
    this.length = length;
    this.#parts = parts;
  }

  /** The queue of a device has no session: its message ids do not survive a lost connection. */
  get isOfDevice(): boolean {
    return this.name.clientId === '';
  }

  get isAttached(): boolean {
    return this.#outlet !== null;
  }

  /** At which QoS its client wants messages; null without a client. */
  get clientQos(): Qos | null {
    return this.#outlet?.qos ?? null;
  }

  isAttachedTo(outlet: Outlet): boolean {
    return this.#outlet === outlet;
  }

  /** From now on the client gets what waits and what arrives. */
  attach(outlet: Outlet): void {
    if (this.#outlet === outlet) return;
    this.#detach();
    this.#outlet = outlet;
    this.#hasToResend = true;
    this.#schedule();
  }

  detach(outlet: Outlet): void {
    if (this.#outlet === outlet) this.#detach();
  }

  detachAny(): void {
    if (this.#outlet !== null) this.#detach();
  }

  /** A message is in the store. */
  arrived(notificationId: string, qos: Qos, payload: Buffer): void {
    this.#arrivals += 1;
    const isLate = notificationId <= this.#cursor;
    if (this.#outlet === null || this.#known.has(notificationId) || (this.#isBehind && !isLate)) {
      // Without a client, or behind others in the store, it is read from there when its turn comes.
      if (!this.#known.has(notificationId)) this.#isBehind = true;
    } else if (this.#ready.length >= maxReady || this.#readyBytes >= maxReadyBytes) {
      this.#isBehind = true;
      if (isLate) this.#startOver();
    } else this.#add({ notificationId, qos, payload });
    this.#schedule();
  }

  /** Rows were moved into this queue. */
  grew(count: number): void {
    if (count === 0) return;
    this.length += count;
    this.#arrivals += 1;
    this.#startOver();
    this.#schedule();
  }

  /** Rows were taken out of this queue by others than its client. */
  shrank(count: number): void {
    if (count === 0) return;
    this.length = Math.max(0, this.length - count);
    this.#parts.onRemoved(this);
  }

  get knownCount(): number {
    return this.#known.size;
  }

  isKnown(notificationId: string): boolean {
    return this.#known.has(notificationId);
  }

  /** PUBREC. Durable before PUBREL goes out: after that the client no longer knows the id. */
  async received(messageId: number): Promise<void> {
    const entry = this.#inFlight.get(messageId);
    if (entry === undefined || entry.state === 'pubrel') return;
    const { notificationId } = entry;
    if (!this.isOfDevice) {
      await this.#parts.rows.update(this.name, [{ notificationId, messageId, state: 'pubrel' }]);
    }
    entry.state = 'pubrel';
  }

  /** PUBACK or PUBCOMP. */
  completed(messageId: number): void {
    const entry = this.#inFlight.get(messageId);
    if (entry === undefined) return;
    this.#inFlight.delete(messageId);
    this.#confirm(entry);
    this.#schedule();
  }

  /** Another client of the device has acknowledged its copy: the device has the message, and this client may still get it. */
  acknowledgedElsewhere(notificationId: string, qos: Qos): void {
    this.#confirm({ notificationId, qos });
  }

  /** Resolves when every confirmation so far is in the store, or could not be put there. */
  async flush(): Promise<void> {
    await this.#removing;
  }

  /** The end: nothing more is sent or retried. */
  dispose(): void {
    this.#isDisposed = true;
    this.#detach();
    this.#confirmed = [];
    this.#expired = [];
    clearTimeout(this.#retry);
  }

  #detach(): void {
    this.#outlet?.close();
    this.#outlet = null;
    for (const { notificationId } of this.#ready) this.#known.delete(notificationId);
    this.#ready = [];
    this.#readyBytes = 0;
    if (this.isOfDevice) {
      for (const { notificationId } of this.#inFlight.values()) this.#known.delete(notificationId);
      this.#inFlight.clear();
    }
    this.#startOver();
  }

  #startOver(): void {
    this.#cursor = '';
    this.#isBehind = true;
    this.#resets += 1;
  }

  #add(ready: Ready): void {
    this.#ready.push(ready);
    this.#readyBytes += ready.payload.length;
    this.#known.add(ready.notificationId);
    if (ready.notificationId > this.#cursor) this.#cursor = ready.notificationId;
  }

  /** What arrives in one turn of the event loop goes out together. */
  #schedule(): void {
    if (this.#isScheduled || this.#isPumping || this.#outlet === null) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      for (;;) {
        const outlet = this.#outlet;
        if (outlet === null) return;
        if (this.#hasToResend) {
          await this.#resend(outlet);
          continue;
        }
        if (!outlet.isOpen || this.#inFlight.size >= limits.inFlight) return;
        if (this.#ready.length > 0) {
          const sending = this.#send(outlet);
          // Only QoS 2 has to wait for the store.
          if (sending !== null) await sending;
        } else if (this.#isBehind) await this.#readOn(outlet);
        else return;
      }
    } catch (error) {
      this.#retryLater(error);
    } finally {
      this.#isPumping = false;
    }
  }

  /** What a client that is back must get again, with the ids it knows (MQTT-4.4.0-1), before anything new. */
  async #resend(outlet: Outlet): Promise<void> {
    if (!this.#isLoaded && !this.isOfDevice) {
      for (const { notificationId, messageId, qos, state } of await this.#parts.rows.listInFlight(this.name)) {
        if (messageId === null) continue;
        this.#inFlight.set(messageId, { notificationId, messageId, qos, state });
        this.#known.add(notificationId);
      }
      this.#isLoaded = true;
    }
    const entries = [...this.#inFlight.values()].sort((a, b) => (a.notificationId < b.notificationId ? -1 : 1));
    const packets: Buffer[] = [];
    for (const entry of entries) {
      const { messageId, qos } = entry;
      if (entry.state === 'pubrel') {
        packets.push(encodePubrel(messageId));
        continue;
      }
      const payload = await this.#parts.findPayload(this.name.ownerId, entry.notificationId);
      if (outlet !== this.#outlet) return;
      if (payload === null) {
        this.#inFlight.delete(messageId);
        this.#expire(entry.notificationId);
        continue;
      }
      packets.push(encodePublish({ topic: this.#topic, payload, qos, messageId, dup: true }));
    }
    if (outlet !== this.#outlet) return;
    this.#hasToResend = false;
    if (packets.length > 0) outlet.write(packets, () => this.#schedule());
  }

  /** The next page of the store; payloads are read together. */
  async #readOn(outlet: Outlet): Promise<void> {
    const { rows: stored, findPayload } = this.#parts;
    const [arrivals, resets] = [this.#arrivals, this.#resets];
    // A row that is confirmed and removed while the store reads is not known afterwards: remember it as it was.
    const knownBefore = new Set(this.#known);
    const after = this.#cursor;
    const limit = pageSize + (after === '' ? knownBefore.size : 0);
    const rows = await stored.list(this.name, { limit, after });
    const fresh = rows.filter(({ notificationId: id }) => !knownBefore.has(id) && !this.#known.has(id));
    const found = await Promise.all(
      fresh.map(async ({ notificationId, qos }) => ({
        notificationId,
        qos,
        payload: await findPayload(this.name.ownerId, notificationId),
      })),
    );
    if (outlet !== this.#outlet || resets !== this.#resets) return;
    for (const { notificationId, qos, payload } of found) {
      if (payload === null) this.#expire(notificationId);
      else if (!this.#known.has(notificationId)) this.#add({ notificationId, qos, payload });
    }
    const last = rows.at(-1)?.notificationId ?? '';
    if (last > this.#cursor) this.#cursor = last;
    if (rows.length < limit && arrivals === this.#arrivals) this.#isBehind = false;
  }

  /** One write of as much as window and socket take. Not null where the store has to know the message ids first. */
  #send(outlet: Outlet): Promise<void> | null {
    // After UNSUBSCRIBE what waits still goes out, as it was subscribed to.
    const granted = outlet.qos ?? 2;
    const entries: InFlight[] = [];
    const payloads: Buffer[] = [];
    let bytes = 0;
    for (const { notificationId, qos: wanted, payload } of this.#ready) {
      if (bytes >= writeBytes || this.#inFlight.size >= limits.inFlight) break;
      const qos = Math.min(wanted, granted) as Qos;
      const messageId = qos === 0 ? 0 : this.#nextMessageId();
      const entry: InFlight = { notificationId, messageId, qos, state: 'publish' };
      if (qos !== 0) this.#inFlight.set(messageId, entry);
      entries.push(entry);
      payloads.push(payload);
      bytes += payload.length;
    }
    this.#ready.splice(0, entries.length);
    this.#readyBytes -= bytes;
    // A QoS 2 message must come with the same id after a restart, or the client takes it for another one. With QoS 1 a
    // message may come twice anyway, so its id is not worth a write.
    const exactlyOnce = this.isOfDevice ? [] : entries.filter(({ qos }) => qos === 2);
    if (exactlyOnce.length === 0) {
      this.#write(outlet, entries, payloads);
      return null;
    }
    return this.#parts.rows.update(this.name, exactlyOnce).then(
      () => {
        if (outlet === this.#outlet) this.#write(outlet, entries, payloads);
        else this.#takeBack(entries.filter(({ qos }) => qos !== 2));
      },
      (error) => {
        if (outlet === this.#outlet) this.#takeBack(entries);
        throw error;
      },
    );
  }

  #write(outlet: Outlet, entries: readonly InFlight[], payloads: readonly Buffer[]): void {
    const topic = this.#topic;
    const packets = entries.map(({ qos, messageId }, index) =>
      encodePublish({ topic, payload: payloads[index] as Buffer, qos, messageId, dup: false }),
    );
    const unacknowledged = entries.filter(({ qos }) => qos === 0);
    const onWritten = (): void => {
      if (outlet === this.#outlet) for (const entry of unacknowledged) this.#confirm(entry);
    };
    outlet.write(packets, () => this.#schedule(), unacknowledged.length === 0 ? undefined : onWritten);
  }

  /** They were not sent: they are read from the store again. */
  #takeBack(entries: readonly InFlight[]): void {
    for (const entry of entries) {
      if (entry.qos !== 0) this.#inFlight.delete(entry.messageId);
      this.#known.delete(entry.notificationId);
    }
    this.#startOver();
  }

  #confirm({ notificationId, qos }: Pick<InFlight, 'notificationId' | 'qos'>): void {
    if (this.#isDisposed) return;
    this.#confirmed.push({ notificationId, qos, deliveredAt: this.#parts.now() });
    this.#removing ??= this.#remove();
  }

  /** The notification was deleted: there is nothing left to send. */
  #expire(notificationId: string): void {
    if (this.#isDisposed) return;
    this.#known.add(notificationId);
    this.#expired.push(notificationId);
    this.#removing ??= this.#remove();
  }

  /** Confirmations that come while others are being written go into the next write together. */
  async #remove(): Promise<void> {
    const { rows } = this.#parts;
    let confirmed: MqttReceipt[] = [];
    let expired: string[] = [];
    try {
      while (this.#confirmed.length + this.#expired.length > 0) {
        [confirmed, expired] = [this.#confirmed, this.#expired];
        [this.#confirmed, this.#expired] = [[], []];
        this.shrank(await rows.confirm(this.name, confirmed));
        for (const { notificationId } of confirmed) this.#known.delete(notificationId);
        confirmed = [];
        this.shrank(await rows.remove(this.name, expired));
        for (const notificationId of expired) this.#known.delete(notificationId);
        if (expired.length > 0) this.#parts.onExpired(expired.length);
        expired = [];
      }
    } catch (error) {
      this.#confirmed = confirmed.concat(this.#confirmed);
      this.#expired = expired.concat(this.#expired);
      this.#retryLater(error);
    } finally {
      this.#removing = null;
    }
  }

  #nextMessageId(): number {
    do this.#lastMessageId = (this.#lastMessageId % maxMessageId) + 1;
    while (this.#inFlight.has(this.#lastMessageId));
    return this.#lastMessageId;
  }

  #retryLater(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#parts.onFailed(error);
    if (this.#isDisposed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (this.#confirmed.length + this.#expired.length > 0) this.#removing ??= this.#remove();
      this.#schedule();
    }, retryMs).unref();
  }
}
