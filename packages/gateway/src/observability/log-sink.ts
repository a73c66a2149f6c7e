import { write } from 'node:fs';

const stderr = 2;
/** Lines beyond this limit are dropped: a blocked reader of the log, or a full disk, must not stop the service. */
const maxPendingCharacters = 4 * 1024 * 1024;

/** Writes lines to stderr, one write at a time. Lines that cannot be written are lost. */
export class LogSink {
  #pending = '';
  #isWriting = false;
  #whenIdle: (() => void)[] = [];

  write(line: string): void {
    if (this.#pending.length + line.length > maxPendingCharacters) return;
    this.#pending += line;
    this.#next();
  }

  /** Resolves when all lines are written, or after the timeout. */
  flush(timeoutMs: number): Promise<void> {
    if (!this.#isWriting) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#whenIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #next(): void {
    if (this.#isWriting) return;
    if (this.#pending === '') {
      for (const notice of this.#whenIdle.splice(0)) notice();
      return;
    }
    const bytes = Buffer.from(this.#pending);
    this.#pending = '';
    this.#isWriting = true;
    this.#put(bytes);
  }

  #put(bytes: Buffer): void {
    write(stderr, bytes, (error, written) => {
      if (error === null && written < bytes.length) {
        this.#put(bytes.subarray(written));
        return;
      }
      this.#isWriting = false;
      this.#next();
    });
  }
}
