import { dayMs } from '../../core/duration.ts';

const mostMs = dayMs;

/** Retry-After of RFC 9110, section 10.2.3: seconds or a date. At most a day; undefined where it says nothing usable. */
export function parseRetryAfter(value: string | string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  const waitMs = /^\d{1,9}$/.test(text)
    ? Number(text) * 1000
    : /[a-z]/i.test(text)
      ? Date.parse(text) - now
      : Number.NaN;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), mostMs);
}
