// Quiet hours of a channel, in the local time of the owner.
import { BoundedMap } from './bounded-map.ts';

/** 'HH:MM' to 'HH:MM', end exclusive; spans midnight if the end is before the start. */
export interface QuietSpan {
  from: string;
  to: string;
}

/** As owners' rows store it in JSON: the fields beside `timeZone` are names of channels. */
export interface QuietHours {
  /** An IANA name, such as Europe/Berlin. */
  readonly timeZone: string;
  readonly [channel: string]: QuietSpan | string | null;
}

export function quietSpanOf(quietHours: QuietHours, channel: string): QuietSpan | null {
  const span = quietHours[channel];
  return typeof span === 'object' ? span : null;
}

interface Clock {
  format: Intl.DateTimeFormat;
  /** The last formatted minute since 1970, and its text. */
  minute: number;
  time: string;
}

/** Cached, because creating a formatter takes a thousand times as long as using it; null: unknown time zone. */
const clocks = new BoundedMap<string, Clock | null>(500);

/** Compares local times, so the span is correct on days with a daylight saving change as well. */
export function isQuiet(span: QuietSpan | null, timeZone: string, at: number): boolean {
  if (span === null) return false;
  const clock = clockOf(timeZone);
  // An unknown time zone, for example after a move to another machine, has no quiet hours.
  if (clock === null) return false;
  const time = read(clock, at);
  const { from, to } = span;
  return from < to ? from <= time && time < to : from <= time || time < to;
}

/** The canonical name of a time zone; undefined if Intl does not know it. */
export function parseTimeZone(name: string): string | undefined {
  return createFormat(name)?.resolvedOptions().timeZone;
}

/** Formats once per minute: no time zone has had an offset with seconds since 1972. */
function read(clock: Clock, at: number): string {
  const minute = Math.floor(at / 60_000);
  if (minute !== clock.minute) {
    clock.time = clock.format.format(at);
    clock.minute = minute;
  }
  return clock.time;
}

function clockOf(timeZone: string): Clock | null {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;

  const format = createFormat(timeZone);
  const clock = format && { format, minute: Number.NaN, time: '' };
  clocks.set(timeZone, clock);
  return clock;
}

/** Shows HH:MM, so that times of day compare as text. */
function createFormat(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  } catch {
    return null;
  }
}
