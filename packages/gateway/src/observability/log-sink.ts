import { write } from 'node:fs';

const stderr = 2;
/** Beyond this, lines are dropped: a log that nobody reads, or a full disk, must not take the service with it. */
const maxWaitingCharacters = 4 * 1024 * 1024;

/** Lines to stderr, one write at a time, as well as it goes: what cannot be written is lost, and nothing else. */
export class LogSink {
  #waiting = '';
  #isWriting = false;
  #whenIdle: (() => void)[] = [];

  write(line: string): void {
    if (this.#waiting.length + line.length > maxWaitingCharacters) return;
    this.#waiting += line;
    this.#next();
  }

  /** Resolves when all is written, or when it takes too long. */
  flush(patienceMs: number): Promise<void> {
    if (!this.#isWriting) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      this.#whenIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #next(): void {
    if (this.#isWriting) return;
    if (this.#waiting === '') {
      for (const notice of this.#whenIdle.splice(0)) notice();
      return;
    }
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
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
