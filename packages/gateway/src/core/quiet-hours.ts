// When a channel stays silent. Times are those of the owner's clock on the wall.

/** 'HH:MM' to 'HH:MM', the end not included; over midnight where the end comes first. */
export interface QuietSpan {
  from: string;
  to: string;
}

export interface QuietHours {
  /** An IANA name, such as Europe/Berlin. */
  timeZone: string;
  push: QuietSpan | null;
  email: QuietSpan | null;
  mqtt: QuietSpan | null;
}

interface Clock {
  format: Intl.DateTimeFormat;
  /** The minute that it last showed, counted from 1970, and how it showed it. */
  minute: number;
  time: string;
}

/** Making a clock takes a thousand times as long as reading it; null for a zone that this Node does not know. */
const clocks = new Map<string, Clock | null>();
const maxClocks = 500;

/** Summer time is the zone's business: the span is where the hands of the clock are, on a day of 23 hours as well. */
export function isQuiet(span: QuietSpan | null, timeZone: string, at: number): boolean {
  if (span === null) return false;
  const clock = clockOf(timeZone);
  // A zone that this Node does not know, as after a move to another machine, silences nobody.
  if (clock === null) return false;
  const time = read(clock, at);
  const { from, to } = span;
  return from < to ? from <= time && time < to : from <= time || time < to;
}

/** The name as Intl writes it; undefined for a zone that it does not know. */
export function parseTimeZone(name: string): string | undefined {
  return createFormat(name)?.resolvedOptions().timeZone;
}

/** Requests of one minute read the clock once: no zone has been off by parts of a minute since 1972. */
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
  if (clocks.size >= maxClocks) clocks.delete(clocks.keys().next().value as string);
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
