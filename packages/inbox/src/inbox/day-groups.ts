// Groups notifications by calendar day in the time zone of the browser.
import { text } from '../text/index.ts';

export interface DayGroup<Item> {
  /** Such as 2026-03-05. */
  day: string;
  label: string;
  items: Item[];
}

const dayMs = 24 * 3600 * 1000;

export function createDayGroups(locale: string, timeZone?: string) {
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  const weekday = new Intl.DateTimeFormat(locale, { timeZone, weekday: 'long' });
  const date = new Intl.DateTimeFormat(locale, { timeZone, weekday: 'short', day: 'numeric', month: 'long' });
  const dateAndYear = new Intl.DateTimeFormat(locale, { timeZone, day: 'numeric', month: 'long', year: 'numeric' });
  const dayOf = (at: number): string => parts.format(at);

  /** Compares calendar dates instead of durations, because a day may have 23 or 25 hours. */
  const label = (at: number, now: number): string => {
    const daysAgo = (Date.parse(dayOf(now)) - Date.parse(dayOf(at))) / dayMs;
    if (daysAgo === 0) return text.inbox.today;
    if (daysAgo === 1) return text.inbox.yesterday;
    if (daysAgo > 1 && daysAgo < 7) return weekday.format(at);
    return dayOf(at).slice(0, 4) === dayOf(now).slice(0, 4) ? date.format(at) : dateAndYear.format(at);
  };

  return <Item extends { createdAt: number }>(items: readonly Item[], now: number): DayGroup<Item>[] => {
    const groups: DayGroup<Item>[] = [];
    for (const item of items) {
      const day = dayOf(item.createdAt);
      const last = groups.at(-1);
      if (last?.day === day) last.items.push(item);
      else groups.push({ day, label: label(item.createdAt, now), items: [item] });
    }
    return groups;
  };
}
