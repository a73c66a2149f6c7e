// One answer of text/event-stream. What the client does not take is kept up to a bound; then the connection ends, and the
// browser comes back by itself.
import { Readable } from 'node:stream';
import type { LiveEvent } from '@tocsin/contract/console';

const mostBytesKept = 1024 * 1024;

export class EventStream extends Readable {
  #isOver = false;

  constructor() {
    super({ highWaterMark: mostBytesKept, read: () => undefined });
  }

  /** Too much waits already for anything that could also be fetched later. */
  get isBehind(): boolean {
    return this.readableLength > mostBytesKept / 4;
  }

  send({ event, data }: LiveEvent, id?: string): void {
    // JSON has no line breaks of its own, so that nothing in it can begin another field.
    this.#write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`);
  }

  /** Where a client that is cut off says that it was; moves without any event. */
  mark(id: string): void {
    this.#write(`id: ${id}\n\n`);
  }

  /** For proxies, which close what is silent. Whoever is behind even now takes nothing any more. */
  beat(): void {
    if (this.isBehind) this.destroy();
    else this.#write(':\n\n');
  }

  /** The client may come back after so long. */
  end(retryMs?: number): void {
    if (this.#isOver) return;
    if (retryMs !== undefined) this.#write(`retry: ${retryMs}\n\n`);
    this.#isOver = true;
    this.push(null);
  }

  #write(text: string): void {
    if (this.#isOver || this.destroyed) return;
    this.push(text);
    if (this.readableLength > mostBytesKept) this.destroy();
  }
}
