// Reads the streams of the console as they arrive: lines of a search, and events.
import type { InboxEntry, LiveEvent, SearchLine } from '@tocsin/contract/console';
import type { ConsoleClient } from './console-client.ts';
import { eventually } from './eventually.ts';

export interface SearchResult {
  matches: InboxEntry[];
  progress: Extract<SearchLine, { kind: 'progress' }>[];
  last: SearchLine;
}

export async function search(client: ConsoleClient, query: Record<string, string>): Promise<SearchResult> {
  const { result } = await beginSearch(client, query);
  return result();
}

/** Resolves when the console has begun its response. */
export async function beginSearch(
  client: ConsoleClient,
  query: Record<string, string>,
): Promise<{ result: () => Promise<SearchResult> }> {
  const response = await client.fetch(`/api/notifications/search?${new URLSearchParams(query)}`);
  return { result: () => readResult(response) };
}

async function readResult(response: Response): Promise<SearchResult> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The search was refused with ${response.status}: ${text}`);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as SearchLine);
  return {
    matches: lines.flatMap((line) => (line.kind === 'match' ? [line.notification] : [])),
    progress: lines.filter((line) => line.kind === 'progress'),
    last: lines.at(-1) as SearchLine,
  };
}

export type ReceivedEvent = LiveEvent & { id: string | undefined; at: number };

/** The part of EventSource that the tests need. */
export class EventListener {
  readonly events: ReceivedEvent[] = [];
  /** Number of comments, which keep the connection alive. */
  beats = 0;
  /** Sent by a client that reconnects. */
  lastEventId = '';
  retryMs: number | undefined;
  isOver = false;
  readonly #cancel = new AbortController();

  static async open(client: ConsoleClient, lastEventId?: string, query = ''): Promise<EventListener> {
    const listener = new EventListener();
    const response = await client.fetch(`/api/events${query}`, {
      signal: listener.#cancel.signal,
      ...(lastEventId !== undefined && { headers: { 'last-event-id': lastEventId } }),
    });
    if (response.status !== 200) throw new Error(`Events were refused with ${response.status}.`);
    void listener.#read(response.body as ReadableStream<Uint8Array>);
    return listener;
  }

  get arrivedTitles(): string[] {
    return this.events.flatMap(({ event, data }) => (event === 'arrived' ? [data.notification.title] : []));
  }

  /** Waits for an event that satisfies the condition, and returns the first one. */
  async waitFor(what: string, withinMs: number, isIt: (event: ReceivedEvent) => boolean): Promise<ReceivedEvent> {
    await eventually(
      what,
      withinMs,
      () => this.events,
      (events) => events.some(isIt),
    );
    return this.events.find(isIt) as ReceivedEvent;
  }

  close(): void {
    this.#cancel.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    try {
      for await (const chunk of body) {
        text += decoder.decode(chunk, { stream: true });
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
      }
    } catch {
      // Closed, by the test or by the server.
    }
    this.isOver = true;
  }

  #take(block: string): void {
    if (block.startsWith(':')) this.beats += 1;
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)));
    if (fields.id !== undefined) this.lastEventId = fields.id;
    if (fields.retry !== undefined) this.retryMs = Number(fields.retry);
    if (fields.event === undefined) return;
    this.events.push({ event: fields.event, data: JSON.parse(fields.data), id: fields.id, at: performance.now() });
  }
}
