// GET /api/events: the live events of an inbox.

import { isNotificationId } from '@tocsin/contract/console/inbox';
import { inboxRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import { firstIdAt } from '../../core/uuid-v7.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { findEntry, unreadOf } from './entry.ts';
import { EventStream } from './event-stream.ts';
import { createLiveFeed } from './live-feed.ts';
import { parsePosition } from './position.ts';
import { watchSession } from './session-watch.ts';

const beatEveryMs = 15_000;
/** Connections per owner; a new one replaces the oldest, which reconnects after a pause, so that tabs do not replace each other continuously. */
const maxConnections = 20;
const replacedRetryMs = 60_000;
/** A client that missed more notifications reads the list again. */
const maxMissed = 100;

export function addEventsRoute(app: FastifyInstance, deps: ConsoleApiDeps): void {
  const { store, now, stopping } = deps;
  const feed = createLiveFeed(store, now);
  /** Connections by owner, oldest first. */
  const open = new Map<string, Set<EventStream>>();

  stopping.addEventListener('abort', () => {
    for (const streams of open.values()) for (const stream of streams) stream.end();
  });

  function admit(ownerId: string, stream: EventStream): void {
    const streams = open.get(ownerId) ?? new Set();
    open.set(ownerId, streams.add(stream));
    for (const oldest of [...streams].slice(0, -maxConnections)) {
      streams.delete(oldest);
      oldest.end(replacedRetryMs);
    }
    stream.once('close', () => {
      streams.delete(stream);
      if (streams.size === 0 && open.get(ownerId) === streams) open.delete(ownerId);
    });
    if (stopping.aborted) stream.end();
  }

  /**
   * Sends the notifications that arrived since, and `changed` if others may have been read or deleted, which is unknown
   * without a generation.
   */
  async function catchUp(ownerId: string, since: Since, stream: EventStream, sent: Set<string>): Promise<void> {
    const { after, generation } = since;
    const [news] = isNotificationId(after) ? await store.inbox.readNews([{ ownerId, after }], maxMissed + 1) : [];
    const unread = await unreadOf(store, ownerId);
    const missed = news?.arrived ?? [];
    for (const id of missed.length > maxMissed ? [] : missed) {
      if (stream.isBehind || stream.destroyed) break;
      const notification = await findEntry(store, ownerId, id);
      if (notification === null || notification === 'damaged' || sent.has(id)) continue;
      sent.add(id);
      stream.send({ event: 'arrived', data: { notification, unread } }, id);
    }
    const isSame = generation !== undefined && news?.generation === generation && missed.length <= maxMissed;
    if (!isSame) stream.send({ event: 'changed', data: { unread } });
  }

  addRoute(app, inboxRoutes.streamEvents, async (request, reply) => {
    const owner = ownerOf(request);
    const since = sinceOf(request.headers['last-event-id'], request.query.position);
    const stream = new EventStream();
    /** Ids sent during the catch-up, which prevents duplicates; null afterwards. */
    let sent: Set<string> | null = since === null ? null : new Set();

    const session = watchSession(deps, request, () => {
      stream.send({ event: 'signed-out', data: {} });
      stream.end();
    });
    const { ready, stop } = feed.watch(owner.id, {
      isSignedIn: session.isOn,
      arrived(notification, unread) {
        if (sent?.has(notification.id)) return;
        sent?.add(notification.id);
        if (stream.isBehind) stream.send({ event: 'changed', data: { unread } });
        else stream.send({ event: 'arrived', data: { notification, unread } }, notification.id);
      },
      changed: (unread) => stream.send({ event: 'changed', data: { unread } }),
      failed: (error) => deps.onError(error, request),
    });
    const beat = setInterval(() => stream.beat(), beatEveryMs);
    stream.once('close', () => {
      stop();
      clearInterval(beat);
      session.stop();
    });
    admit(owner.id, stream);
    // The response begins only now: a list that is read after that leaves no gap to the events.
    await ready;
    const readyAt = firstIdAt(now());
    if (sent === null || since === null) stream.mark(readyAt);
    else {
      catchUp(owner.id, since, stream, sent)
        .then(() => stream.mark(readyAt))
        // The browser reconnects with the same Last-Event-ID.
        .catch((error: unknown) => {
          if (!(error instanceof StoreUnavailable)) deps.onError(error, request);
          stream.destroy();
        })
        .finally(() => {
          sent = null;
        });
    }
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no').send(stream);
  });
}

interface Since {
  after: string;
  /** undefined: unknown. */
  generation?: number;
}

/** A browser that reconnects repeats the position of its page; its Last-Event-ID is newer. */
function sinceOf(lastId: string | string[] | undefined, position: string | string[] | undefined): Since | null {
  if (lastId !== undefined) return { after: String(lastId) };
  return parsePosition(typeof position === 'string' ? position : undefined);
}
