// The socket of one client, as queues see it: bytes go in, and a client that stops reading is dropped.

import type { Duplex } from 'node:stream';
import type { Qos } from '@tocsin/contract';
import { BoundedMap } from '../../../core/bounded-map.ts';
import { limits } from './limits.ts';
import { encodePublish } from './publish-packet.ts';

export interface OutletParts {
  stream: Duplex;
  /** At which QoS the client wants notifications; null: it did not subscribe to them. */
  qos(): Qos | null;
  drop(reason: string): void;
}

const firstCopyId = 0x8000;
const lastCopyId = 0xffff;
/** Copies of which an acknowledgement is expected; of older ones it is no longer noticed. */
const maxCopies = 1000;

/** A message that this client got beside the one that the queue of the device follows up. */
export interface Copy {
  topic: string;
  payload: Buffer;
  qos: Qos;
  notificationId: string;
}

export class Outlet {
  readonly #parts: OutletParts;
  #isBlocked = false;
  #stall: NodeJS.Timeout | undefined;
  #lastCopyId = lastCopyId;
  readonly #copies = new BoundedMap<number, { notificationId: string; qos: Qos }>(maxCopies);

  constructor(parts: OutletParts) {
    this.#parts = parts;
  }

  get qos(): Qos | null {
    return this.#parts.qos();
  }

  get isOpen(): boolean {
    return !this.#isBlocked && this.#parts.stream.writable;
  }

  /** `onWritten` is called once the operating system has the bytes; never if the connection ends before. */
  write(packets: readonly Buffer[], onDrain: () => void, onWritten?: () => void): void {
    const { stream } = this.#parts;
    const bytes = packets.length === 1 ? (packets[0] as Buffer) : Buffer.concat(packets);
    const hasRoom = stream.write(bytes, (error) => {
      if (error === null || error === undefined) onWritten?.();
    });
    if (hasRoom || this.#isBlocked) return;
    this.#isBlocked = true;
    this.#stall = setTimeout(() => this.#parts.drop('it does not read what it is sent'), limits.drainMs).unref();
    stream.once('drain', () => {
      this.#isBlocked = false;
      clearTimeout(this.#stall);
      onDrain();
    });
  }

  /** Sends a message that no queue follows up, with an id that no queue uses. `onWritten`: with QoS 0. */
  writeCopy({ topic, payload, qos: published, notificationId }: Copy, onWritten: () => void): void {
    const granted = this.qos;
    const { stream, drop } = this.#parts;
    if (granted === null || !stream.writable) return;
    if (stream.writableLength > limits.unsentBytes) {
      drop('too much is waiting to be read');
      return;
    }
    const qos = Math.min(published, granted) as Qos;
    const messageId = this.#nextCopyId();
    if (qos !== 0) this.#copies.set(messageId, { notificationId, qos });

    const packet = encodePublish({ topic, payload, qos, messageId, dup: false });
    this.write([packet], () => undefined, qos === 0 ? onWritten : undefined);
  }

  /** PUBACK or PUBCOMP: which copy it is for, if it is for one. */
  acknowledgedCopy(messageId: number): { notificationId: string; qos: Qos } | undefined {
    const copy = this.#copies.get(messageId);
    this.#copies.delete(messageId);
    return copy;
  }

  close(): void {
    clearTimeout(this.#stall);
    this.#copies.clear();
  }

  #nextCopyId(): number {
    this.#lastCopyId = this.#lastCopyId === lastCopyId ? firstCopyId : this.#lastCopyId + 1;
    return this.#lastCopyId;
  }
}
