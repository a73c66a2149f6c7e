// Looking through an owner's history. Everything a person wrote is sealed, so looking is opening: row by row, newest first.
import { setTimeout as delay } from 'node:timers/promises';
import type { SearchLine } from '@tocsin/contract/console';
import { createBreath } from '../../gateway/breath.ts';
import type { InboxItem, InboxPage, InboxQuery, InboxStore } from '../../gateway/ports/inbox.ts';
import { toEntry } from './entry.ts';
import type { Turns } from './turns.ts';

const progressEveryMs = 400;
/** A page takes about this long, whatever its rows weigh. */
const pageMs = 20;
const pageRows = { first: 50, least: 5, most: 100 };

export interface Wanted extends Pick<InboxQuery, 'before' | 'unreadOnly'> {
  ownerId: string;
  isWanted: (item: InboxItem) => boolean;
  /** Ends after so many matches. */
  limit: number;
}

/** A page, as far as it was looked through. */
interface LookedThrough extends InboxPage {
  opened: number;
  matches: InboxItem[];
}

/**
 * Ends without a word once the signal aborts; no page is read after that. Rows are opened on the thread that also serves
 * requests, so all searches take turns, page by page, and nobody waits long for a page.
 */
export async function* search(
  store: Pick<InboxStore, 'listInbox'>,
  takeTurn: Turns,
  { ownerId, isWanted, limit, before, ...query }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<SearchLine> {
  const totals = { opened: 0, matched: 0 };
  let damaged = 0;
  let reachedAt = Date.now();
  let rows = pageRows.first;
  let from = before;
  let saidAt = performance.now();
  const progress = (): SearchLine => {
    saidAt = performance.now();
    return { kind: 'progress', ...totals, reachedAt };
  };

  /** null once the search is cancelled. */
  async function lookThroughPage(): Promise<LookedThrough | null> {
    if (signal.aborted) return null;
    const startedAt = performance.now();
    const page = await store.listInbox(ownerId, { ...query, limit: rows, ...(from !== undefined && { before: from }) });
    const breath = createBreath();
    const looked: LookedThrough = { ...page, opened: 0, matches: [] };
    for (const item of page.items) {
      await breath();
      if (signal.aborted) return null;
      looked.opened += 1;
      if (isWanted(item)) looked.matches.push(item);
      if (totals.matched + looked.matches.length === limit) break;
    }
    rows = nextSize(rows, performance.now() - startedAt);
    return looked;
  }

  for (;;) {
    const looking = takeTurn(lookThroughPage);
    while (!(await settles(looking, progressEveryMs))) yield progress();
    const page = await looking;
    if (page === null) return;
    totals.opened += page.opened;
    reachedAt = page.items[page.opened - 1]?.createdAt ?? reachedAt;
    for (const item of page.matches) {
      totals.matched += 1;
      yield { kind: 'match', notification: toEntry(item) };
    }
    const isEnough = totals.matched === limit;
    const next = isEnough ? nextAfter(page) : (page.next ?? null);
    damaged += page.damaged.filter((id) => next === null || id >= next).length;
    if (isEnough || next === null) {
      yield { kind: 'end', ...totals, damaged, next };
      return;
    }
    from = next;
    if (performance.now() - saidAt >= progressEveryMs) yield progress();
  }
}

/** Where a search goes on that has its last match; null: that was the oldest notification of all. */
function nextAfter({ items, damaged, matches, next }: LookedThrough): string | null {
  const last = matches.at(-1)?.id ?? '';
  const isOldest = [...items.map(({ id }) => id), ...damaged].every((id) => id >= last);
  return isOldest && next === undefined ? null : last;
}

async function settles(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const patience = new AbortController();
  try {
    return await Promise.race([work.then(() => true), delay(withinMs, false, { signal: patience.signal })]);
  } finally {
    patience.abort();
  }
}

function nextSize(rows: number, tookMs: number): number {
  const wanted = Math.round((rows * pageMs) / Math.max(tookMs, 1));
  // Twice as much at most: one fast page says little about the next.
  return Math.max(pageRows.least, Math.min(pageRows.most, rows * 2, wanted));
}
