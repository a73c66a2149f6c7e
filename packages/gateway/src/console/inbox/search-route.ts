// GET /api/notifications/search: streams matches as they are found.

import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from '@tocsin/contract';
import type { QueryOf, SearchLine } from '@tocsin/contract/console';
import { inboxRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal, internalError, storeUnavailable } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { createFairQueue } from './fair-queue.ts';
import { search, type Wanted } from './search.ts';
import { watchSession } from './session-watch.ts';

/** Concurrent searches per owner; all owners share one decryption thread. */
const maxConcurrent = 2;
/** Typing cancels one search after the other, and the end of a cancelled search is noticed a little later. */
const maxWaitMs = 1000;
const pollEveryMs = 25;
/** A client that reads nothing for this long is disconnected. */
const stallMs = 30_000;

export function addSearchRoute(app: FastifyInstance, deps: ConsoleApiDeps): void {
  /** Number of running searches by owner. */
  const running = new Map<string, number>();
  const queue = createFairQueue();

  async function begin(ownerId: string): Promise<() => void> {
    const count = (): number => running.get(ownerId) ?? 0;
    for (let waitedMs = 0; count() >= maxConcurrent; waitedMs += pollEveryMs) {
      if (waitedMs >= maxWaitMs)
        throw new ConsoleRefusal('rate_limited', 'Two searches are already running. Cancel one or wait.');
      await delay(pollEveryMs);
    }
    running.set(ownerId, count() + 1);
    return () => {
      const remaining = (running.get(ownerId) ?? 1) - 1;
      if (remaining === 0) running.delete(ownerId);
      else running.set(ownerId, remaining);
    };
  }

  addRoute(app, inboxRoutes.searchNotifications, async (request, reply) => {
    const wanted = toWanted(ownerOf(request).id, request.query);
    const closed = new AbortController();
    const signedOut = new AbortController();
    reply.raw.once('close', () => closed.abort());
    const end = await begin(wanted.ownerId);
    if (closed.signal.aborted) {
      end();
      return reply.hijack();
    }
    const session = watchSession(deps, request, () => signedOut.abort());
    reply.raw.setTimeout(stallMs, () => reply.raw.destroy());

    async function* lines(): AsyncGenerator<string> {
      try {
        const signal = AbortSignal.any([closed.signal, signedOut.signal, deps.stopping]);
        for await (const line of search(deps.store, queue, wanted, signal)) yield toText(line);
        if (signedOut.signal.aborted) yield toText({ kind: 'failed', error: 'Your session has expired.' });
        else if (deps.stopping.aborted) yield toText({ kind: 'failed', error: 'The service is restarting.' });
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) deps.onError(error, request);
        const { message } = error instanceof StoreUnavailable ? storeUnavailable() : internalError();
        yield toText({ kind: 'failed', error: message });
      }
    }

    // Read only as fast as the client reads, line by line. It closes after the last page, however the search ends.
    const stream = Readable.from(lines()).once('close', () => {
      session.stop();
      end();
    });
    // Without the header, nginx buffers the lines.
    return reply.type('application/x-ndjson; charset=utf-8').header('x-accel-buffering', 'no').send(stream);
  });
}

type SearchQuery = QueryOf<typeof inboxRoutes.searchNotifications>;

function toWanted(ownerId: string, { q, severity, category, unread, before, limit }: SearchQuery): Wanted {
  const terms = { query: q, severities: severity?.split(',') ?? null, categories: category?.split(',') ?? null };
  return { ownerId, terms, limit, unreadOnly: unread === '1', ...(before !== undefined && { before }) };
}

function toText(line: SearchLine): string {
  return `${stringify(line)}\n`;
}
