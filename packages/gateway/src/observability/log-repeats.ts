// Limits lines that a client can cause at any rate. The first few of a kind in a minute are written; the others are counted
// and reported in one line.

const windowMs = 60_000;

export interface Suppressed {
  kind: string;
  count: number;
}

export class LogRepeats {
  readonly #linesPerWindow: number;
  readonly #onSuppressed: (suppressed: Suppressed) => void;
  readonly #counts = new Map<string, number>();

  constructor(linesPerWindow: number, onSuppressed: (suppressed: Suppressed) => void) {
    this.#linesPerWindow = linesPerWindow;
    this.#onSuppressed = onSuppressed;
  }

  /** Returns whether to write this line; otherwise counts it. */
  isDue(kind: string): boolean {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count === 1) setTimeout(() => this.#end(kind), windowMs).unref();
    return count <= this.#linesPerWindow;
  }

  /** Reports the counts so far, for the end of the process. */
  flush(): void {
    for (const kind of [...this.#counts.keys()]) this.#end(kind);
  }

  #end(kind: string): void {
    const count = (this.#counts.get(kind) ?? 0) - this.#linesPerWindow;
    this.#counts.delete(kind);
    if (count > 0) this.#onSuppressed({ kind, count });
  }
}
