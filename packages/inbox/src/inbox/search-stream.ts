// The answer of a search: one JSON value a line, read as it comes.
import type { InboxEntry, SearchLine } from '@tocsin/contract/console';

/** Yields what came at once together, so that a page is drawn once for it. */
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

/** Not every browser that runs the rest can iterate over a stream. */
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
  opened: number;
  matched: number;
  reachedAt: number | null;
  error: string;
  damaged: number;
  /** Took too long to look through. */
  skipped: number;
  /** Where it goes on; null when it was through, or has not begun. */
  next: string | null;
}

export const newSearch: SearchState = {
  phase: 'running',
  opened: 0,
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

/** `before` is what earlier parts of the same search came to: each part counts from zero. */
export function takeLines(search: SearchState, before: SearchState, lines: readonly SearchLine[]): SearchStep {
  const found: InboxEntry[] = [];
  let state = search;
  for (const line of lines) {
    if (line.kind === 'match') {
      found.push(line.notification);
      state = { ...state, reachedAt: line.notification.createdAt };
    } else if (line.kind === 'failed') {
      state = { ...state, phase: 'failed', error: line.error };
    } else {
      state = { ...state, opened: before.opened + line.opened, matched: before.matched + line.matched };
      if (line.kind === 'progress') state = { ...state, reachedAt: line.reachedAt };
      else {
        const phase = line.next === null ? 'complete' : 'paused';
        const damaged = before.damaged + line.damaged;
        state = { ...state, phase, next: line.next, damaged, skipped: before.skipped + line.skipped };
      }
    }
  }
  // Matches are told before the next progress counts them.
  return { search: { ...state, matched: Math.max(state.matched, search.matched + found.length) }, found };
}

/** Where a search that was broken off goes on: ids begin with their time, so this is just after what it had reached. */
export function breakOff(search: SearchState, phase: 'cancelled' | 'failed', error = ''): SearchState {
  const { reachedAt } = search;
  const time = reachedAt === null ? null : (reachedAt + 1).toString(16).padStart(12, '0');
  const next = time === null ? null : `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
  return { ...search, phase, error, next };
}
