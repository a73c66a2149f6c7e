// /api/notifications and /api/events: an owner's inbox. Every look and every change is of the owner who is signed in, so
// that another owner's ids are as good as none.
import type { InboxDetail, InboxEntry, InboxListing, UnreadCount } from '@tocsin/contract/console';
import type { FastifyInstance } from 'fastify';
import type { ChannelName } from '../../usecases/ports/index.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { ownerOf } from '../signed-in.ts';
import { describeDeliveries, everyDelivery } from './deliveries.ts';
import { findEntry, toEntry, unreadOf } from './entry.ts';
import { addEventsRoute } from './events-route.ts';
import { readPosition } from './position.ts';
import { idsBody, isNotificationId, type PageQuery, pageQuery, readAllBody, readBody, retryBody } from './schemas.ts';
import { addSearchRoute } from './search-route.ts';

interface Id {
  Params: { id: string };
}

interface Ids {
  Body: { ids: string[] };
}

export function addInboxRoutes(app: FastifyInstance, parts: ConsoleApiParts): void {
  const { store, now } = parts;

  async function find(ownerId: string, id: string): Promise<InboxEntry> {
    const entry = isNotificationId(id) ? await findEntry(store, ownerId, id) : null;
    if (entry === null) throw notFound('notification');
    if (entry !== 'damaged') return entry;
    throw new ConsoleRefusal('not_found', 'This notification cannot be read any more: its row does not open.');
  }

  app.get<{ Querystring: PageQuery }>(
    '/notifications',
    { schema: { querystring: pageQuery } },
    async (request): Promise<InboxListing> => {
      const { id } = ownerOf(request);
      const { limit, before, unread: unreadOnly } = request.query;
      const query = { limit, unreadOnly: unreadOnly === '1', ...(before !== undefined && { before }) };
      const position = before === undefined ? await readPosition(store, id, now()) : null;
      const [page, unread] = await Promise.all([store.inbox.list(id, query), unreadOf(store, id)]);
      return {
        notifications: page.items.map(toEntry),
        next: page.next ?? null,
        damaged: page.damaged.length,
        unread,
        position,
      };
    },
  );

  app.get('/notifications/unread', (request): Promise<UnreadCount> => unreadOf(store, ownerOf(request).id));

  app.get<Id>('/notifications/:id', async (request): Promise<InboxDetail> => {
    const owner = ownerOf(request);
    const notification = await find(owner.id, request.params.id);
    return { notification, deliveries: await describeDeliveries(store, owner, notification.id) };
  });

  app.post<Id & { Body: { channel?: ChannelName; target?: string } }>(
    '/notifications/:id/retry',
    { schema: { body: retryBody } },
    async (request): Promise<{ count: number }> => {
      const { id: ownerId } = ownerOf(request);
      const { id: notificationId } = await find(ownerId, request.params.id);
      const { channel, target } = request.body;
      const deliveries = await store.deliveries.list({ ownerId, notificationId, limit: everyDelivery });
      const meant = deliveries.filter(
        (delivery) =>
          delivery.state !== 'sent' &&
          (channel === undefined || delivery.channel === channel) &&
          (target === undefined || delivery.target === target),
      );
      // Their lanes are due with that, and lanes that are due are looked for every second.
      return { count: meant.length === 0 ? 0 : await store.deliveries.retry(meant, now()) };
    },
  );

  app.post<{ Body: { ids: string[]; isRead: boolean } }>(
    '/notifications/read',
    { schema: { body: readBody } },
    async (request, reply) => {
      await store.inbox.markRead(ownerOf(request).id, request.body.ids, request.body.isRead);
      return reply.code(204).send();
    },
  );

  app.post<{ Body: { through: string } }>(
    '/notifications/read-all',
    { schema: { body: readAllBody } },
    async (request, reply) => {
      await store.inbox.markAllRead(ownerOf(request).id, request.body.through);
      return reply.code(204).send();
    },
  );

  app.post<{ Body: { through: string } }>(
    '/notifications/read-all/undo',
    { schema: { body: readAllBody } },
    async (request): Promise<{ isUndone: boolean }> => ({
      isUndone: await store.inbox.undoMarkAllRead(ownerOf(request).id, request.body.through),
    }),
  );

  app.post<Ids>('/notifications/delete', { schema: { body: idsBody } }, async (request) => ({
    count: await store.inbox.delete(ownerOf(request).id, request.body.ids, now()),
  }));

  app.post<Ids>('/notifications/restore', { schema: { body: idsBody } }, async (request) => ({
    count: await store.inbox.restore(ownerOf(request).id, request.body.ids),
  }));

  addSearchRoute(app, parts);
  addEventsRoute(app, parts);
}
