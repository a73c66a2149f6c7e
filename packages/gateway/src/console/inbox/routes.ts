// The inbox of the signed-in owner: notifications, search and live events. Every read and write is limited to that owner, so
// that ids of other owners are not found.

import type { InboxEntry } from '@tocsin/contract/console';
import { isNotificationId } from '@tocsin/contract/console/inbox';
import { inboxRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance } from 'fastify';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { describeDeliveries, everyDelivery } from './deliveries.ts';
import { findEntry, toEntry, unreadOf, withOriginal } from './entry.ts';
import { addEventsRoute } from './events-route.ts';
import { readPosition } from './position.ts';
import { addSearchRoute } from './search-route.ts';

export function addInboxRoutes(app: FastifyInstance, deps: ConsoleApiDeps): void {
  const { definitions, store, now } = deps;

  async function find(ownerId: string, id: string): Promise<InboxEntry> {
    const entry = isNotificationId(id) ? await findEntry(store, ownerId, id) : null;
    if (entry === null) throw notFound('notification');
    if (entry !== 'damaged') return entry;
    throw new ConsoleRefusal('not_found', 'This notification cannot be decrypted.');
  }

  addRoute(app, inboxRoutes.listNotifications, async (request) => {
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
  });

  addRoute(app, inboxRoutes.countUnread, (request) => unreadOf(store, ownerOf(request).id));

  addRoute(app, inboxRoutes.getNotification, async (request) => {
    const owner = ownerOf(request);
    const notification = await find(owner.id, request.params.id);
    const deliveries = await describeDeliveries(definitions, store, owner, notification.id);
    return { notification: await withOriginal(store, owner.id, notification), deliveries };
  });

  addRoute(
    app,
    inboxRoutes.retryDeliveries,
    async (request) => {
      const { id: ownerId } = ownerOf(request);
      const { id: notificationId } = await find(ownerId, request.params.id);
      const { channel, target } = request.body;
      const deliveries = await store.deliveries.list({ ownerId, notificationId, limit: everyDelivery });
      const selected = deliveries.filter(
        (delivery) =>
          delivery.state !== 'sent' &&
          (channel === undefined || delivery.channel === channel) &&
          (target === undefined || delivery.target === target),
      );
      // Makes their target queues due, which are polled every second.
      return { count: selected.length === 0 ? 0 : await store.deliveries.retry(selected, now()) };
    },
    {
      refine({ channel }) {
        const names = definitions.map(({ name }) => name);
        if (channel === undefined || names.includes(channel as string)) return [];
        return [{ field: 'channel', problem: `must be one of ${names.join(', ')}` }];
      },
    },
  );

  addRoute(app, inboxRoutes.markRead, async (request) => {
    await store.inbox.markRead(ownerOf(request).id, request.body.ids, request.body.isRead);
  });

  addRoute(app, inboxRoutes.markAllRead, async (request) => {
    await store.inbox.markAllRead(ownerOf(request).id, request.body.through);
  });

  addRoute(app, inboxRoutes.undoMarkAllRead, async (request) => ({
    isUndone: await store.inbox.undoMarkAllRead(ownerOf(request).id, request.body.through),
  }));

  addRoute(app, inboxRoutes.deleteNotifications, async (request) => ({
    count: await store.inbox.delete(ownerOf(request).id, request.body.ids, now()),
  }));

  addRoute(app, inboxRoutes.restoreNotifications, async (request) => ({
    count: await store.inbox.restore(ownerOf(request).id, request.body.ids),
  }));

  addSearchRoute(app, deps);
  addEventsRoute(app, deps);
}
