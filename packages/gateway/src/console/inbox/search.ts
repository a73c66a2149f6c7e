// Search in the notifications of an owner. Their content is encrypted, so every row is decrypted and compared, newest first.
import { setTimeout as delay } from 'node:timers/promises';
import type { SearchLine } from '@tocsin/contract/console';
import type { SearchTerms } from '../../core/search-match.ts';
import type { InboxQuery, SearchedPage, Store } from '../../usecases/ports/index.ts';
import { toEntry } from './entry.ts';
import type { FairQueue } from './fair-queue.ts';

const progressEveryMs = 400;
/** Target duration of one page; the number of rows is adapted to it. */
const pageMs = 20;
const pageRows = { first: 50, min: 5, max: 100 };

export interface Wanted extends Pick<InboxQuery, 'before' | 'unreadOnly'> {
  ownerId: string;
  terms: SearchTerms;
  /** The search ends after this number of matches. */
  limit: number;
}

/**
 * Ends without a further line when the signal aborts; no page is read after that. One thread decrypts the rows of all
 * searches, so they alternate page by page, and no search waits long.
 */
export async function* search(
  store: Pick<Store, 'inbox'>,
  queue: FairQueue,
  { ownerId, terms, limit, before, ...query }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<SearchLine> {
  const totals = { opened: 0, matched: 0 };
  let damaged = 0;
  let skipped = 0;
  let reachedAt = Date.now();
  let rows = pageRows.first;
  let from = before;
  let reportedAt = performance.now();
  const progress = (): SearchLine => {
    reportedAt = performance.now();
    return { kind: 'progress', ...totals, reachedAt };
  };

  /** null: the search was cancelled. */
  async function searchPage(): Promise<SearchedPage | null> {
    if (signal.aborted) return null;
    const startedAt = performance.now();
    const mostMatches = limit - totals.matched;
    const wanted = { ...query, terms, mostMatches, limit: rows, ...(from !== undefined && { before: from }) };
    const page = await store.inbox.search(ownerId, wanted, signal);
    // Large rows can fill a page before the wanted number of rows is reached.
    const searched = page.searched + page.damaged.length + page.skipped.length;
    rows = Math.min(nextSize(rows, performance.now() - startedAt), Math.max(pageRows.min, searched * 2));
    return signal.aborted ? null : page;
  }

  for (;;) {
    const searching = queue(searchPage);
    while (!(await settles(searching, progressEveryMs))) yield progress();
    const page = await searching;
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
    if (performance.now() - reportedAt >= progressEveryMs) yield progress();
  }
}

async function settles(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const timeout = new AbortController();
  try {
    return await Promise.race([work.then(() => true), delay(withinMs, false, { signal: timeout.signal })]);
  } finally {
    timeout.abort();
  }
}

function nextSize(rows: number, tookMs: number): number {
  const wanted = Math.round((rows * pageMs) / Math.max(tookMs, 1));
  // At most doubled: one fast page says little about the next.
  return Math.max(pageRows.min, Math.min(pageRows.max, rows * 2, wanted));
}
