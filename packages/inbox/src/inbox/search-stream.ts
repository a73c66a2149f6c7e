// Reads the response of a search: newline-delimited JSON, parsed as it arrives.
import type { InboxEntry, SearchLine } from '@tocsin/contract/console';

/** Yields all lines of a chunk together, so that the page renders once for them. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SearchLine[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    const full = lines.filter((line) => line !== '');
    if (full.length > 0) yield full.map((line) => JSON.parse(line) as SearchLine);
  }
}

/** Not all supported browsers can iterate over a stream. */
export async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

export interface SearchState {
  phase: 'running' | 'paused' | 'complete' | 'cancelled' | 'failed';
  /** Number of notifications searched so far. */
  searched: number;
  matched: number;
  reachedAt: number | null;
  error: string;
  damaged: number;
  /** Number of notifications that took too long to search. */
  skipped: number;
  /** Cursor to continue from; null if the search is complete or has not started. */
  next: string | null;
}

export const initialSearch: SearchState = {
  phase: 'running',
  searched: 0,
  matched: 0,
  reachedAt: null,
  error: '',
  damaged: 0,
  skipped: 0,
  next: null,
};

export interface SearchStep {
  search: SearchState;
  found: InboxEntry[];
}

/** `before` has the totals of the earlier requests of the same search, since each request counts from zero. */
export function applyLines(search: SearchState, before: SearchState, lines: readonly SearchLine[]): SearchStep {
  const found: InboxEntry[] = [];
  let state = search;
  for (const line of lines) {
    if (line.kind === 'match') {
      found.push(line.notification);
      state = { ...state, reachedAt: line.notification.createdAt };
    } else if (line.kind === 'failed') {
      state = { ...state, phase: 'failed', error: line.error };
    } else {
      state = { ...state, searched: before.searched + line.opened, matched: before.matched + line.matched };
      if (line.kind === 'progress') state = { ...state, reachedAt: line.reachedAt };
      else {
        const phase = line.next === null ? 'complete' : 'paused';
        const damaged = before.damaged + line.damaged;
        state = { ...state, phase, next: line.next, damaged, skipped: before.skipped + line.skipped };
      }
    }
  }
  // Matches arrive before the progress line that counts them.
  return { search: { ...state, matched: Math.max(state.matched, search.matched + found.length) }, found };
}

/** Sets the cursor of an interrupted search to just after the last notification searched: ids begin with their time. */
export function interruptSearch(search: SearchState, phase: 'cancelled' | 'failed', error = ''): SearchState {
  const { reachedAt } = search;
  const time = reachedAt === null ? null : (reachedAt + 1).toString(16).padStart(12, '0');
  const next = time === null ? null : `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
  return { ...search, phase, error, next };
}
