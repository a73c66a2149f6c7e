// GET /api/events: what happens in the inbox, as it happens.
import type { FastifyInstance } from 'fastify';
import { firstIdAt } from '../../core/uuid-v7.ts';
import { StoreUnavailable } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ownerOf } from '../signed-in.ts';
import { findEntry, unreadOf } from './entry.ts';
import { EventStream } from './event-stream.ts';
import { createLiveFeed } from './live-feed.ts';
import { parsePosition } from './position.ts';
import { isNotificationId } from './schemas.ts';
import { watchSession } from './session-watch.ts';

const beatEveryMs = 15_000;
/** Of one owner; the oldest makes room. It comes back after a while, or the tabs would push each other out all the time. */
const mostConnections = 20;
const pushedOutMs = 60_000;
/** Whoever missed more than this reads the list again. */
const mostMissed = 100;

export function addEventsRoute(app: FastifyInstance, parts: ConsoleApiParts): void {
  const { store, now, stopping } = parts;
  const feed = createLiveFeed(store, now);
  /** Owner → connections, oldest first. */
  const open = new Map<string, Set<EventStream>>();

  stopping.addEventListener('abort', () => {
    for (const streams of open.values()) for (const stream of streams) stream.end();
  });

  function admit(ownerId: string, stream: EventStream): void {
    const streams = open.get(ownerId) ?? new Set();
    open.set(ownerId, streams.add(stream));
    for (const oldest of [...streams].slice(0, -mostConnections)) {
      streams.delete(oldest);
      oldest.end(pushedOutMs);
    }
    stream.once('close', () => {
      streams.delete(stream);
      if (streams.size === 0 && open.get(ownerId) === streams) open.delete(ownerId);
    });
    if (stopping.aborted) stream.end();
  }

  /** Sends what came since, and `changed` if things may have been read or deleted: without a generation nobody knows. */
  async function catchUp(ownerId: string, since: Since, stream: EventStream, told: Set<string>): Promise<void> {
    const { after, generation } = since;
    const [news] = isNotificationId(after) ? await store.inbox.readNews([{ ownerId, after }], mostMissed + 1) : [];
    const unread = await unreadOf(store, ownerId);
    const missed = news?.arrived ?? [];
    for (const id of missed.length > mostMissed ? [] : missed) {
      if (stream.isBehind || stream.destroyed) break;
      const notification = await findEntry(store, ownerId, id);
      if (notification === null || notification === 'damaged' || told.has(id)) continue;
      told.add(id);
      stream.send({ event: 'arrived', data: { notification, unread } }, id);
    }
    const isSame = generation !== undefined && news?.generation === generation && missed.length <= mostMissed;
    if (!isSame) stream.send({ event: 'changed', data: { unread } });
  }

  // Without its twin for HEAD, which would listen too.
  app.get<{ Querystring: { position?: string } }>('/events', { exposeHeadRoute: false }, async (request, reply) => {
    const owner = ownerOf(request);
    const since = sinceOf(request.headers['last-event-id'], request.query.position);
    const stream = new EventStream();
    /** While it catches up, so that nothing is told twice; null otherwise. */
    let told: Set<string> | null = since === null ? null : new Set();

    const session = watchSession(parts, request, () => {
      stream.send({ event: 'signed-out', data: {} });
      stream.end();
    });
    const { ready, stop } = feed.watch(owner.id, {
      isSignedIn: session.isOn,
      arrived(notification, unread) {
        if (told?.has(notification.id)) return;
        told?.add(notification.id);
        if (stream.isBehind) stream.send({ event: 'changed', data: { unread } });
        else stream.send({ event: 'arrived', data: { notification, unread } }, notification.id);
      },
      changed: (unread) => stream.send({ event: 'changed', data: { unread } }),
      failed: (error) => parts.onError(error, request),
    });
    const beat = setInterval(() => stream.beat(), beatEveryMs);
    stream.once('close', () => {
      stop();
      clearInterval(beat);
      session.stop();
    });
    admit(owner.id, stream);
    // A list that is read once this answer has begun and what is told here leave no gap between them.
    await ready;
    const readyAt = firstIdAt(now());
    if (told === null || since === null) stream.mark(readyAt);
    else {
      catchUp(owner.id, since, stream, told)
        .then(() => stream.mark(readyAt))
        // The browser comes back, with the same last id.
        .catch((error: unknown) => {
          if (!(error instanceof StoreUnavailable)) parts.onError(error, request);
          stream.destroy();
        })
        .finally(() => {
          told = null;
        });
    }
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no').send(stream);
  });
}

interface Since {
  after: string;
  /** undefined: not known. */
  generation?: number;
}

/** A browser that reconnects by itself asks with the position of its page again, and with where it really was. */
function sinceOf(lastId: string | string[] | undefined, position: unknown): Since | null {
  if (lastId !== undefined) return { after: String(lastId) };
  return parsePosition(typeof position === 'string' ? position : undefined);
}
