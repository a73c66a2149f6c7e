// Limits lines that an attack, or a store that is down, would repeat with every request: the first of a kind are written at
// once, the others are counted and reported in one line per minute.

const intervalMs = 60_000;
/** Maximum number of pairs of kind and address; beyond it, addresses are counted together. */
const maxEntries = 200;

/** Writes the line with the number of suppressed lines. */
type Report = (count: number, address: string) => void;

interface Limit {
  /** Number of lines of a kind that are written before the others are suppressed. */
  lines: number;
  /** The limit applies to each minute. Otherwise lines are suppressed until a minute has passed without any. */
  isPerMinute: boolean;
}

interface Entry {
  address: string;
  written: number;
  suppressed: number;
  report: Report;
  timer: NodeJS.Timeout;
}

export class RepeatedLines {
  readonly #limit: Limit;
  readonly #entries = new Map<string, Entry>();

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** Returns whether to write this line; otherwise counts it, for a later `report`. */
  isDue(kind: string, address: string, report: Report): boolean {
    const entry = this.#entryOf(kind, address, report);
    const isDue = entry.written < this.#limit.lines;
    if (isDue) entry.written += 1;
    else entry.suppressed += 1;
    return isDue;
  }

  /** Reports the counts so far, for the end of the process. */
  flush(): void {
    for (const key of [...this.#entries.keys()]) this.#endInterval(key);
  }

  #entryOf(kind: string, address: string, report: Report): Entry {
    const isFull = this.#entries.size >= maxEntries && !this.#entries.has(keyOf(kind, address));
    const counted = isFull ? 'other addresses' : address;
    const key = keyOf(kind, counted);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const timer = setInterval(() => this.#endInterval(key), intervalMs).unref();
    const entry = { address: counted, written: isFull ? this.#limit.lines : 0, suppressed: 0, report, timer };
    this.#entries.set(key, entry);
    return entry;
  }

  #endInterval(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const { suppressed, address, report, timer } = entry;
    entry.suppressed = 0;
    if (suppressed === 0 || this.#limit.isPerMinute) {
      this.#entries.delete(key);
      clearInterval(timer);
    }
    if (suppressed > 0) report(suppressed, address);
  }
}

function keyOf(kind: string, address: string): string {
  return `${kind} ${address}`;
}
