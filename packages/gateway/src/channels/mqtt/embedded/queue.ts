// One queue of the embedded broker: the messages for one session, or for a device whose clients have no session. It decides
// what to do next for its client; `message-states.ts` shows the states of a message, and which file owns which step.
import type { Qos } from '@tocsin/contract';
import { type MqttQueueName, type MqttQueueRepository, StoreUnavailable } from '../../../usecases/ports/index.ts';
import type { ClientSocket } from './client-socket.ts';
import type { FindPayload } from './find-payload.ts';
import { MessageStates } from './message-states.ts';
import { QueueReader } from './queue-reader.ts';
import { QueueRemover } from './queue-remover.ts';
import { QueueSender } from './queue-sender.ts';

const retryMs = 1000;

export interface QueueDeps {
  rows: Pick<MqttQueueRepository, 'list' | 'listInFlight' | 'update' | 'confirm' | 'remove'>;
  findPayload: FindPayload;
  now(): number;
  onFailed(error: unknown): void;
  /** Messages were removed, so the queue may be below its limit again. */
  onRemoved(queue: Queue): void;
  /** Messages were removed because their notification was deleted. */
  onExpired(count: number): void;
}

/** A queue that a message goes into, and the QoS that it has there. */
export interface QueueEntry {
  queue: Queue;
  qos: Qos;
}

export class Queue {
  readonly name: MqttQueueName;
  readonly topic: string;
  /** Unacknowledged messages in the store, and reservations for those that are being written. */
  length: number;
  readonly #deps: QueueDeps;
  readonly #messages = new MessageStates();
  readonly #reader: QueueReader;
  readonly #sender: QueueSender;
  readonly #remover: QueueRemover;
  #isPumping = false;
  #isScheduled = false;
  #retry: NodeJS.Timeout | undefined;
  #isDisposed = false;

  constructor(name: MqttQueueName, topic: string, length: number, deps: QueueDeps) {
    this.name = name;
    this.topic = topic;
    this.length = length;
    this.#deps = deps;
    const { rows, findPayload, now, onExpired } = deps;
    const messages = this.#messages;
    const remover = new QueueRemover({
      ...{ name, rows, messages, now, onExpired },
      onRemoved: (count) => this.rowsRemoved(count),
      onFailed: (error) => this.#retryLater(error),
    });
    const reader = new QueueReader({ name, rows, findPayload, messages, remover }, length > 0);
    this.#sender = new QueueSender(
      { ...{ name, topic, rows, findPayload, messages, reader, remover }, onDrain: () => this.#schedule() },
      length > 0,
    );
    this.#reader = reader;
    this.#remover = remover;
  }

  get isOfDevice(): boolean {
    return this.name.clientId === '';
  }

  get isAttached(): boolean {
    return this.#sender.socket !== null;
  }

  /** The QoS of the subscription of its client; null without a client. */
  get clientQos(): Qos | null {
    return this.#sender.socket?.qos ?? null;
  }

  isAttachedTo(socket: ClientSocket): boolean {
    return this.#sender.socket === socket;
  }

  /** From now on the client gets the messages of this queue. */
  attach(socket: ClientSocket): void {
    if (this.isAttachedTo(socket)) return;
    this.#sender.detach();
    this.#sender.attach(socket);
    this.#schedule();
  }

  detach(socket: ClientSocket): void {
    if (this.isAttachedTo(socket)) this.#sender.detach();
  }

  detachAny(): void {
    if (this.isAttached) this.#sender.detach();
  }

  /** A message was stored in this queue. */
  arrived(notificationId: string, qos: Qos, payload: Buffer): void {
    this.#reader.arrived({ notificationId, qos, payload }, this.isAttached);
    this.#schedule();
  }

  /** Rows were moved into this queue. */
  rowsAdded(count: number): void {
    if (count === 0) return;
    this.length += count;
    this.#reader.rowsAdded();
    this.#schedule();
  }

  /** A row may have been added: only the store knows. */
  rowsMayBeAdded(): void {
    this.#reader.rowsAdded();
    this.#schedule();
  }

  /** The number of its rows in the store is known. */
  countRows(count: number): void {
    this.length = Math.max(0, count - this.#remover.unremovedCount);
    // Sessions that expired left their messages to the queue of the device.
    if (count > this.#messages.size) this.rowsMayBeAdded();
  }

  /** Rows of this queue were deleted, or are about to be. */
  rowsRemoved(count: number): void {
    if (count === 0) return;
    this.length = Math.max(0, this.length - count);
    this.#deps.onRemoved(this);
  }

  /** Messages in memory. */
  get knownCount(): number {
    return this.#messages.size;
  }

  isKnown(notificationId: string): boolean {
    return this.#messages.has(notificationId);
  }

  /** PUBREC. */
  received(messageId: number): Promise<void> {
    return this.#sender.received(messageId);
  }

  /** PUBACK or PUBCOMP. */
  completed(messageId: number): void {
    const message = this.#messages.takeInFlight(messageId);
    if (message === undefined) return;
    this.#remover.acknowledge(message);
    this.#schedule();
  }

  /** Another client of the device acknowledged its copy: the device has the message, even if this client gets it too. */
  acknowledgedElsewhere(notificationId: string, qos: Qos): void {
    this.#remover.acknowledge({ notificationId, qos });
  }

  /** Resolves when every acknowledgement so far is stored, or could not be. */
  flush(): Promise<void> {
    return this.#remover.flush();
  }

  /** Nothing is sent, removed or retried after this. */
  dispose(): void {
    this.#isDisposed = true;
    this.#sender.detach();
    this.#remover.dispose();
    clearTimeout(this.#retry);
  }

  /** Messages that arrive in the same turn of the event loop are written together. */
  #schedule(): void {
    if (this.#isScheduled || this.#isPumping || !this.isAttached) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#pump();
    });
  }

  /** Sends until the socket or the window is full, or the queue is empty. */
  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    const [messages, reader, sender] = [this.#messages, this.#reader, this.#sender];
    try {
      for (;;) {
        const { socket } = sender;
        if (socket === null) return;
        if (sender.hasToResend) {
          await sender.resend(socket);
          continue;
        }
        if (!socket.isOpen || messages.isWindowFull) return;
        if (messages.hasReady) {
          const sending = sender.send(socket);
          // Only QoS 2 has to wait for the store.
          if (sending !== null) await sending;
        } else if (reader.isBehind) await reader.readPage(() => this.isAttachedTo(socket));
        else return;
      }
    } catch (error) {
      this.#retryLater(error);
    } finally {
      this.#isPumping = false;
    }
  }

  #retryLater(error: unknown): void {
    if (!(error instanceof StoreUnavailable)) this.#deps.onFailed(error);
    if (this.#isDisposed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      this.#remover.resume();
      this.#schedule();
    }, retryMs).unref();
  }
}
