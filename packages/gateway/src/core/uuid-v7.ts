import { dayMs } from './duration.ts';

/**
 * Ids that grow with time (RFC 9562, version 7), strictly within one process: rows are appended to the index instead of
 * scattered over it, and the order of ids is the order of acceptance. Node's randomUUIDv7 is random within a millisecond.
 * `after`: an id from before the start; the first new id is greater, even if the clock was set back.
 */
export function createUuidV7Source(now: () => number, randomUuid: () => string, after?: string | null): () => string {
  let lastMs = after == null ? 0 : Number.parseInt(after.slice(0, 8) + after.slice(9, 13), 16) + 1;
  let sequence = 0;
  return () => {
    const ms = now();
    const random = randomUuid();
    // A clock that was a day or more ahead has been corrected: new ids do not continue from the future ones.
    if (ms > lastMs || ms < lastMs - dayMs) {
      lastMs = ms;
      sequence = Number.parseInt(random.slice(0, 3), 16) >> 1;
    } else {
      sequence += 1;
      if (sequence > 0xfff) {
        lastMs += 1;
        sequence = 0;
      }
    }
    const time = lastMs.toString(16).padStart(12, '0');
    // The random tail of a version 4 UUID already carries the variant bits.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${random.slice(19)}`;
  };
}

/** The smallest id that a notification of this time can have; ids below it are older. */
export function firstIdAt(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}
