// Lines that an attack, or a store that is away, would repeat with every request: the first is logged at once, and the
// others as a count per interval.

const everyMs = 60_000;
/** Kinds and addresses that are told apart; beyond that, addresses are counted together. */
const maxEntries = 200;

/** Writes the line for that many more. */
type Report = (count: number, address: string) => void;

interface Entry {
  address: string;
  count: number;
  report: Report;
}

export class LogSummary {
  readonly #entries = new Map<string, Entry>();
  #timer: NodeJS.Timeout | null = null;

  /** Says whether this is the first of its kind from this address; if not, it is counted. */
  isFirst(kind: string, address: string, report: Report): boolean {
    const isFull = this.#entries.size >= maxEntries && !this.#entries.has(keyOf(kind, address));
    const counted = isFull ? 'other addresses' : address;
    const entry = this.#entries.get(keyOf(kind, counted));
    if (entry !== undefined) {
      entry.count += 1;
      return false;
    }
    this.#entries.set(keyOf(kind, counted), { address: counted, count: isFull ? 1 : 0, report });
    this.#timer ??= setInterval(() => this.flush(), everyMs).unref();
    return !isFull;
  }

  /** Reports what was counted since the last time, and forgets what did not come again. */
  flush(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.count === 0) this.#entries.delete(key);
      else entry.report(entry.count, entry.address);
      entry.count = 0;
    }
    if (this.#entries.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}

function keyOf(kind: string, address: string): string {
  return `${kind} ${address}`;
}
