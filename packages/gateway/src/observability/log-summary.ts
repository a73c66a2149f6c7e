// Limits lines that an attack, or a store that is down, would repeat with every request: the first is logged at once, the
// others as a count per interval.

const intervalMs = 60_000;
/** Maximum number of pairs of kind and address; beyond it, addresses are counted together. */
const maxEntries = 200;

/** Writes the line with the number of suppressed lines. */
type Report = (count: number, address: string) => void;

interface Entry {
  address: string;
  count: number;
  report: Report;
}

export class LogSummary {
  readonly #entries = new Map<string, Entry>();
  #timer: NodeJS.Timeout | null = null;

  /** Returns whether this is the first line of its kind from this address; otherwise counts it. */
  isFirst(kind: string, address: string, report: Report): boolean {
    const isFull = this.#entries.size >= maxEntries && !this.#entries.has(keyOf(kind, address));
    const counted = isFull ? 'other addresses' : address;
    const entry = this.#entries.get(keyOf(kind, counted));
    if (entry !== undefined) {
      entry.count += 1;
      return false;
    }
    this.#entries.set(keyOf(kind, counted), { address: counted, count: isFull ? 1 : 0, report });
    this.#timer ??= setInterval(() => this.flush(), intervalMs).unref();
    return !isFull;
  }

  /** Reports the counts since the last flush, and removes entries that did not recur. */
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
