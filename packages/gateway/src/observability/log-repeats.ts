// Lines that a client can cause as often as it likes. The first few of a kind in a minute are written; the others are
// counted, and one line says how many there were.

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

  /** Whether this line is to be written. */
  isDue(kind: string): boolean {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count === 1) setTimeout(() => this.#end(kind), windowMs).unref();
    return count <= this.#linesPerWindow;
  }

  /** Reports what was counted so far, as at the end of the process. */
  flush(): void {
    for (const kind of [...this.#counts.keys()]) this.#end(kind);
  }

  #end(kind: string): void {
    const count = (this.#counts.get(kind) ?? 0) - this.#linesPerWindow;
    this.#counts.delete(kind);
    if (count > 0) this.#onSuppressed({ kind, count });
  }
}
