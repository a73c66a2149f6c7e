// Looking through an owner's history. Everything a person wrote is sealed, so looking is opening: row by row, newest first.
import { setTimeout as delay } from 'node:timers/promises';
import type { SearchLine } from '@tocsin/contract/console';
import type { SearchTerms } from '../../core/search-match.ts';
import type { InboxQuery, SearchedPage, Store } from '../../usecases/ports/index.ts';
import { toEntry } from './entry.ts';
import type { Turns } from './turns.ts';

const progressEveryMs = 400;
/** A page takes about this long, whatever its rows weigh. */
const pageMs = 20;
const pageRows = { first: 50, least: 5, most: 100 };

export interface Wanted extends Pick<InboxQuery, 'before' | 'unreadOnly'> {
  ownerId: string;
  terms: SearchTerms;
  /** Ends after so many matches. */
  limit: number;
}

/**
 * Ends without a word once the signal aborts; no page is read after that. One thread looks through the rows of all
 * searches, so they take turns, page by page, and nobody waits long for a page.
 */
export async function* search(
  store: Pick<Store, 'inbox'>,
  takeTurn: Turns,
  { ownerId, terms, limit, before, ...query }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<SearchLine> {
  const totals = { opened: 0, matched: 0 };
  let damaged = 0;
  let skipped = 0;
  let reachedAt = Date.now();
  let rows = pageRows.first;
  let from = before;
  let saidAt = performance.now();
  const progress = (): SearchLine => {
    saidAt = performance.now();
    return { kind: 'progress', ...totals, reachedAt };
  };

  /** null once the search is cancelled. */
  async function lookThroughPage(): Promise<SearchedPage | null> {
    if (signal.aborted) return null;
    const startedAt = performance.now();
    const mostMatches = limit - totals.matched;
    const wanted = { ...query, terms, mostMatches, limit: rows, ...(from !== undefined && { before: from }) };
    const page = await store.inbox.search(ownerId, wanted, signal);
    // Large rows fill a page before it has as many as were read for it.
    const looked = page.searched + page.damaged.length + page.skipped.length;
    rows = Math.min(nextSize(rows, performance.now() - startedAt), Math.max(pageRows.least, looked * 2));
    return signal.aborted ? null : page;
  }

  for (;;) {
    const looking = takeTurn(lookThroughPage);
    while (!(await settles(looking, progressEveryMs))) yield progress();
    const page = await looking;
    if (page === null) return;
    totals.opened += page.searched;
    damaged += page.damaged.length;
    skipped += page.skipped.length;
    reachedAt = page.reachedAt ?? reachedAt;
    for (const item of page.matches) {
      totals.matched += 1;
      yield { kind: 'match', notification: toEntry(item) };
    }
    const next = page.next ?? null;
    if (totals.matched === limit || next === null) {
      yield { kind: 'end', ...totals, damaged, skipped, next };
      return;
    }
    from = next;
    if (performance.now() - saidAt >= progressEveryMs) yield progress();
  }
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
