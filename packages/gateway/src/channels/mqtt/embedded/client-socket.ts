// The socket of one client: writes packets, and disconnects a client that stops reading.

import type { Duplex } from 'node:stream';
import type { Qos } from '@tocsin/contract';
import { BoundedMap } from '../../../core/bounded-map.ts';
import { limits } from './limits.ts';
import { encodePublish } from './publish-packet.ts';

export interface ClientSocketDeps {
  stream: Duplex;
  /** The QoS of the client's subscription to notifications; null if it has not subscribed to them. */
  qos(): Qos | null;
  drop(reason: string): void;
}

/** Message ids of copies: the half that queues do not use. */
const firstCopyId = 0x8000;
const lastCopyId = 0xffff;
/** Copies whose acknowledgement is awaited; the acknowledgement of an older one is ignored. */
const maxCopies = 1000;

/** A message for a client that has no queue and is not the one that the queue of the device sends to. */
export interface Copy {
  topic: string;
  payload: Buffer;
  qos: Qos;
  notificationId: string;
}

export class ClientSocket {
  readonly #deps: ClientSocketDeps;
  #isBlocked = false;
  #stall: NodeJS.Timeout | undefined;
  #lastCopyId = lastCopyId;
  /** Created for the first copy: most clients get none. */
  #copies: BoundedMap<number, { notificationId: string; qos: Qos }> | undefined;

  constructor(deps: ClientSocketDeps) {
    this.#deps = deps;
  }

  get qos(): Qos | null {
    return this.#deps.qos();
  }

  get isOpen(): boolean {
    return !this.#isBlocked && this.#deps.stream.writable;
  }

  /** `onWritten` is called once the operating system has the bytes, and not at all if the connection ends before. */
  write(packets: readonly Buffer[], onDrain: () => void, onWritten?: () => void): void {
    const { stream } = this.#deps;
    const bytes = packets.length === 1 ? (packets[0] as Buffer) : Buffer.concat(packets);
    const hasRoom = stream.write(bytes, (error) => {
      if (error === null || error === undefined) onWritten?.();
    });
    if (hasRoom || this.#isBlocked) return;
    this.#isBlocked = true;
    this.#stall = setTimeout(() => this.#deps.drop('it does not read what it is sent'), limits.drainMs).unref();
    stream.once('drain', () => {
      this.#isBlocked = false;
      clearTimeout(this.#stall);
      onDrain();
    });
  }

  /** Sends a message that no queue tracks, with a message id that no queue uses. `onWritten` is called only with QoS 0. */
  writeCopy({ topic, payload, qos: published, notificationId }: Copy, onWritten: () => void): void {
    const granted = this.qos;
    const { stream, drop } = this.#deps;
    if (granted === null || !stream.writable) return;
    if (stream.writableLength > limits.unsentBytes) {
      drop('too much is waiting to be read');
      return;
    }
    const qos = Math.min(published, granted) as Qos;
    const messageId = this.#nextCopyId();
    if (qos !== 0) {
      this.#copies ??= new BoundedMap(maxCopies);
      this.#copies.set(messageId, { notificationId, qos });
    }

    const packet = encodePublish({ topic, payload, qos, messageId, dup: false });
    this.write([packet], () => undefined, qos === 0 ? onWritten : undefined);
  }

  /** PUBACK or PUBCOMP: the copy that it acknowledges; undefined if it is for a message of a queue. */
  acknowledgedCopy(messageId: number): { notificationId: string; qos: Qos } | undefined {
    const copy = this.#copies?.get(messageId);
    this.#copies?.delete(messageId);
    return copy;
  }

  close(): void {
    clearTimeout(this.#stall);
    this.#copies?.clear();
  }

  #nextCopyId(): number {
    this.#lastCopyId = this.#lastCopyId === lastCopyId ? firstCopyId : this.#lastCopyId + 1;
    return this.#lastCopyId;
  }
}
