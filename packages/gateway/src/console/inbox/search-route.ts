// GET /api/notifications/search: matches stream out as they are found.
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { SearchLine } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { ownerOf } from '../signed-in.ts';
import { type SearchQuery, searchQuery } from './schemas.ts';
import { search, type Wanted } from './search.ts';
import { watchSession } from './session-watch.ts';
import { createTurns } from './turns.ts';

/** Of one owner at a time; what reads and opens rows is there for everybody. */
const mostAtOnce = 2;
/** Whoever types cancels one search after the other, and the end of the last is noticed a moment after it. */
const patienceMs = 1000;
const lookAgainMs = 25;
/** Somebody who takes nothing for so long is let go of. */
const stallMs = 30_000;

export function addSearchRoute(app: FastifyInstance, parts: ConsoleApiParts): void {
  /** Owner → searches under way. */
  const running = new Map<string, number>();
  const takeTurn = createTurns();

  async function begin(ownerId: string): Promise<() => void> {
    const count = (): number => running.get(ownerId) ?? 0;
    for (let waitedMs = 0; count() >= mostAtOnce; waitedMs += lookAgainMs) {
      if (waitedMs >= patienceMs)
        throw new ConsoleRefusal(
          'rate_limited',
          'Two searches are under way already. Cancel one, or wait for its end.',
        );
      await delay(lookAgainMs);
    }
    running.set(ownerId, count() + 1);
    return () => {
      const left = (running.get(ownerId) ?? 1) - 1;
      if (left === 0) running.delete(ownerId);
      else running.set(ownerId, left);
    };
  }

  // Without its twin for HEAD, which would search too.
  const options = { schema: { querystring: searchQuery }, exposeHeadRoute: false };
  app.get<{ Querystring: SearchQuery }>('/notifications/search', options, async (request, reply) => {
    const wanted = toWanted(ownerOf(request).id, request.query);
    const closed = new AbortController();
    const signedOut = new AbortController();
    reply.raw.once('close', () => closed.abort());
    const end = await begin(wanted.ownerId);
    if (closed.signal.aborted) {
      end();
      return reply.hijack();
    }
    const session = watchSession(parts, request, () => signedOut.abort());
    reply.raw.setTimeout(stallMs, () => reply.raw.destroy());

    async function* lines(): AsyncGenerator<string> {
      try {
        const signal = AbortSignal.any([closed.signal, signedOut.signal, parts.stopping]);
        for await (const line of search(parts.store, takeTurn, wanted, signal)) yield toText(line);
        if (signedOut.signal.aborted) yield toText({ kind: 'failed', error: 'You are no longer signed in.' });
        else if (parts.stopping.aborted) yield toText({ kind: 'failed', error: 'The service is being restarted.' });
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) parts.onError(error, request);
        yield toText({ kind: 'failed', error: problemOf(error) });
      }
    }

    // Read only as fast as the client takes it, line by line; it closes when the last page was read, however it ends.
    const stream = Readable.from(lines()).once('close', () => {
      session.stop();
      end();
    });
    // Proxies are not to gather lines: nginx does unless told.
    return reply.type('application/x-ndjson; charset=utf-8').header('x-accel-buffering', 'no').send(stream);
  });
}

function toWanted(ownerId: string, { q, severity, category, unread, before, limit }: SearchQuery): Wanted {
  const terms = { query: q, severities: severity?.split(',') ?? null, categories: category?.split(',') ?? null };
  return { ownerId, terms, limit, unreadOnly: unread === '1', ...(before !== undefined && { before }) };
}

function toText(line: SearchLine): string {
  return `${JSON.stringify(line)}\n`;
}

function problemOf(error: unknown): string {
  return error instanceof StoreUnavailable
    ? 'The store does not answer. Try again in a moment.'
    : 'Something went wrong on our side. The log of the service says what.';
}
