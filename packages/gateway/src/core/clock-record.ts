// Whether the wall clock may decide what is deleted. A wrong clock (dead battery, bad NTP, restored VM) would make
// everything look old at once, so a clock that jumped has to hold for hours before anything is deleted by it.
import { dayMs, hourMs } from './duration.ts';

/** A difference of more than this is a jump. Time zones, daylight saving and a short downtime stay below it. */
export const jumpMs = dayMs;
/** Time that a clock has to run without a jump before it is trusted. */
export const holdMs = 6 * hourMs;

/** Observations of one clock. */
export interface ClockReading {
  /** The highest time seen. */
  seenAt: number;
  /** Observed running time, across restarts; at most `holdMs`. */
  heldMs: number;
}

/** The stored record of the clock. */
export interface ClockRecord extends ClockReading {
  /** A clock that differs from the record by more than a jump, until it has run for `holdMs` itself. */
  jumped: ClockReading | null;
}

/** `elapsedMs`: the time since the last observation of this process by its monotonic clock; 0 for its first. */
export function observeClock(record: ClockRecord | null, now: number, elapsedMs: number): ClockRecord {
  if (record === null) return { seenAt: now, heldMs: 0, jumped: null };
  if (agrees(record, now)) return { ...advance(record, now, elapsedMs), jumped: null };
  const { jumped } = record;
  const next = jumped !== null && agrees(jumped, now) ? advance(jumped, now, elapsedMs) : { seenAt: now, heldMs: 0 };
  return next.heldMs >= holdMs ? { ...next, jumped: null } : { ...record, jumped: next };
}

export function isClockTrusted({ heldMs, jumped }: ClockRecord): boolean {
  return jumped === null && heldMs >= holdMs;
}

/** Difference of this clock to the recorded one in milliseconds; 0 if it is not a jump. */
export function jumpOf(record: ClockReading | null, now: number): number {
  return record === null || agrees(record, now) ? 0 : now - record.seenAt;
}

function agrees({ seenAt }: ClockReading, now: number): boolean {
  return Math.abs(now - seenAt) <= jumpMs;
}

/** Several nodes observe the same record, so only the time since the last observation of any node is added. */
function advance({ seenAt, heldMs }: ClockReading, now: number, elapsedMs: number): ClockReading {
  const held = Math.min(Math.max(now - seenAt, 0), elapsedMs);
  return { seenAt: Math.max(seenAt, now), heldMs: Math.min(heldMs + held, holdMs) };
}
