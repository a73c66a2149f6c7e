export const secondMs = 1000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Suffixes of durations, in milliseconds. */
const unitsMs: Readonly<Record<string, number>> = { s: secondMs, m: minuteMs, h: hourMs, d: dayMs };

/** Parses `45s`, `15m`, `12h` or `30d` to milliseconds; undefined if the text has another form. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unitsMs[unit] as number);
}
