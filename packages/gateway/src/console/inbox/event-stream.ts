// One response of text/event-stream. Data that the client does not read is buffered up to a limit; beyond it the connection is
// closed, and the browser reconnects.
import { Readable } from 'node:stream';
import { stringify } from '@tocsin/contract';
import type { LiveEvent } from '@tocsin/contract/console';

const maxBufferedBytes = 1024 * 1024;

export class EventStream extends Readable {
  #hasEnded = false;

  constructor() {
    super({ highWaterMark: maxBufferedBytes, read: () => undefined });
  }

  /** The buffer is too full for data that the client can also fetch later. */
  get isBehind(): boolean {
    return this.readableLength > maxBufferedBytes / 4;
  }

  send({ event, data }: LiveEvent, id?: string): void {
    // JSON text of ours has no line breaks, so the data cannot begin another field.
    this.#write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${stringify(data)}\n\n`);
  }

  /** Sets the Last-Event-ID of the client without an event. */
  mark(id: string): void {
    this.#write(`id: ${id}\n\n`);
  }

  /** Keeps proxies from closing an idle connection. A client that is still behind at this point is disconnected. */
  beat(): void {
    if (this.isBehind) this.destroy();
    else this.#write(':\n\n');
  }

  /** `retryMs` is the time after which the client may reconnect. */
  end(retryMs?: number): void {
    if (this.#hasEnded) return;
    if (retryMs !== undefined) this.#write(`retry: ${retryMs}\n\n`);
    this.#hasEnded = true;
    this.push(null);
  }

  #write(text: string): void {
    if (this.#hasEnded || this.destroyed) return;
    this.push(text);
    if (this.readableLength > maxBufferedBytes) this.destroy();
  }
}
