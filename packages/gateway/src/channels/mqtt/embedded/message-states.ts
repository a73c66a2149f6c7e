// The messages of one queue that are in memory, and their states. Nothing here waits for the store or for a socket.
//
//   published ───────────────────────────────────▶ refused: all queues of the device are full (limit-policy.ts)
//       │      limit-policy.ts: counted against the limit of the queue
//       ▼
//   reserved
//       │      enqueue.ts: the row is committed
//       ▼
//   stored ◀─────────────────────────────┐ ──────▶ dropped: the oldest of a queue that is full (limit-policy.ts)
//       │      queue-reader.ts: from the │
//       │      publisher if the client   │ ──────▶ expired: its notification was deleted (queue-remover.ts)
//       │      keeps up, otherwise from  │
//       │      the store, page by page   │
//       ▼                                │
//   ready ────── connection lost ────────┤
//       │      queue-sender.ts: PUBLISH, │
//       │      if the window has space   │
//       ▼                                │
//   in flight ── connection lost ────────┘         if the client has a session, the message stays in flight instead
//       │      PUBACK (QoS 1); PUBREC,             and is sent again with the same message id
//       │      then PUBCOMP (QoS 2);
//       │      written to the socket (QoS 0)
//       ▼
//   acknowledged
//       │      queue-remover.ts: the row is deleted and the receipt stored, in one transaction
//       ▼
//   removed
//
// The row is in the store from `stored` to `acknowledged`, so a crash loses no message: after it, every message without a
// receipt is `stored`, and with QoS 2 `in flight` if its message id was stored.
import type { Qos } from '@tocsin/contract';
import { limits } from './limits.ts';

/** The upper half of the message ids is for copies, which no queue tracks: see `client-socket.ts`. */
const maxMessageId = 0x7fff;
/** Messages, and their bytes, that are kept ready for a client that is a little slower than the publishers. */
const maxReady = 1000;
const maxReadyBytes = 2 * 1024 * 1024;

export interface ReadyMessage {
  notificationId: string;
  qos: Qos;
  payload: Buffer;
}

export interface InFlightMessage {
  notificationId: string;
  /** 0 with QoS 0: such a message is not in the window. */
  messageId: number;
  qos: Qos;
  state: 'publish' | 'pubrel';
}

export class MessageStates {
  #ready: ReadyMessage[] = [];
  #readyBytes = 0;
  /** The window: unacknowledged messages by message id. */
  readonly #inFlight = new Map<number, InFlightMessage>();
  /** Notification ids of all messages from `ready` to `acknowledged`, until their row is removed. */
  readonly #known = new Set<string>();
  #lastMessageId = Math.floor(Math.random() * maxMessageId);

  get size(): number {
    return this.#known.size;
  }

  has(notificationId: string): boolean {
    return this.#known.has(notificationId);
  }

  listIds(): Set<string> {
    return new Set(this.#known);
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  get isReadyFull(): boolean {
    return this.#ready.length >= maxReady || this.#readyBytes >= maxReadyBytes;
  }

  get isWindowFull(): boolean {
    return this.#inFlight.size >= limits.inFlight;
  }

  /** stored → ready. */
  addReady(message: ReadyMessage): void {
    this.#ready.push(message);
    this.#readyBytes += message.payload.length;
    this.#known.add(message.notificationId);
  }

  /** ready → in flight: the oldest messages, at most `maxBytes` of them (but at least one) and what the window takes. */
  takeReady(granted: Qos, maxBytes: number): { messages: InFlightMessage[]; payloads: Buffer[] } {
    const messages: InFlightMessage[] = [];
    const payloads: Buffer[] = [];
    let bytes = 0;
    for (const { notificationId, qos: published, payload } of this.#ready) {
      if (bytes >= maxBytes || this.isWindowFull) break;
      const qos = Math.min(published, granted) as Qos;
      const messageId = qos === 0 ? 0 : this.#nextMessageId();
      const message: InFlightMessage = { notificationId, messageId, qos, state: 'publish' };
      if (qos !== 0) this.#inFlight.set(messageId, message);
      messages.push(message);
      payloads.push(payload);
      bytes += payload.length;
    }
    this.#ready.splice(0, messages.length);
    this.#readyBytes -= bytes;
    return { messages, payloads };
  }

  /** in flight → stored: they were not sent. */
  returnUnsent(messages: readonly InFlightMessage[]): void {
    for (const { notificationId, messageId, qos } of messages) {
      if (qos !== 0) this.#inFlight.delete(messageId);
      this.#known.delete(notificationId);
    }
  }

  /** ready → stored: all of them, since the client is disconnected. */
  clearReady(): void {
    for (const { notificationId } of this.#ready) this.#known.delete(notificationId);
    this.#ready = [];
    this.#readyBytes = 0;
  }

  /** in flight → stored: all of them, since the client is disconnected and its message ids mean nothing to the next. */
  clearInFlight(): void {
    for (const { notificationId } of this.#inFlight.values()) this.#known.delete(notificationId);
    this.#inFlight.clear();
  }

  /** stored → in flight: it was sent with this id before the process started. */
  restoreInFlight(message: InFlightMessage): void {
    this.#inFlight.set(message.messageId, message);
    this.#known.add(message.notificationId);
  }

  findInFlight(messageId: number): InFlightMessage | undefined {
    return this.#inFlight.get(messageId);
  }

  /** In the order of their notifications. */
  listInFlight(): InFlightMessage[] {
    return [...this.#inFlight.values()].sort((a, b) => (a.notificationId < b.notificationId ? -1 : 1));
  }

  /** in flight → acknowledged or expired; undefined if no message has this id. */
  takeInFlight(messageId: number): InFlightMessage | undefined {
    const message = this.#inFlight.get(messageId);
    if (message !== undefined) this.#inFlight.delete(messageId);
    return message;
  }

  /** stored → expired: until its row is removed, it is not read from the store again. */
  expire(notificationId: string): void {
    this.#known.add(notificationId);
  }

  /** acknowledged or expired → removed. */
  remove(notificationId: string): void {
    this.#known.delete(notificationId);
  }

  #nextMessageId(): number {
    do this.#lastMessageId = (this.#lastMessageId % maxMessageId) + 1;
    while (this.#inFlight.has(this.#lastMessageId));
    return this.#lastMessageId;
  }
}
