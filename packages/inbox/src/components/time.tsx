// Formats times in the language of the page and the time zone of the browser.
import { locale, text } from '../text/index.ts';

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const full = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short' });
const steps = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Number.POSITIVE_INFINITY],
] as const;

export function timeAgo(at: number, now = Date.now()): string {
  let value = Math.round((at - now) / 1000);
  for (const [unit, size] of steps) {
    if (Math.abs(value) < size) return relative.format(value, unit);
    value = Math.round(value / size);
  }
  return fullTime(at);
}

export function fullTime(at: number): string {
  return full.format(at);
}

export function clockTime(at: number): string {
  return clock.format(at);
}

/** The relative time with the exact time as a tooltip; "never" for null. */
export function Ago({ at }: { at: number | null }) {
  if (at === null) return <>{text.common.never}</>;
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {timeAgo(at)}
    </time>
  );
}
