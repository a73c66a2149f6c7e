// The notifications of an owner: list, search, live events, delivery status.
import { categories, severities } from '../fields.ts';
import type { Operation } from './route.ts';
import {
  anyObject,
  array,
  exact,
  flag,
  integer,
  nullable,
  object,
  oneOf,
  type Schema,
  type TypeOf,
  text,
  union,
  withDefault,
} from './schema.ts';

const uuid = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';

export function isNotificationId(id: string): boolean {
  return new RegExp(uuid).test(id);
}

const notificationId = text({ pattern: uuid });

const inboxEntry = object({
  id: text(),
  title: text(),
  body: text(),
  source: text(),
  category: oneOf(categories),
  severity: nullable(oneOf(severities)),
  data: anyObject(),
  createdAt: integer(),
  isRead: flag(),
});
export type InboxEntry = TypeOf<typeof inboxEntry>;

const unreadCount = object({
  /** Exact up to `atMost`, and `atMost` beyond it. */
  count: integer(),
  atMost: integer(),
});
export type UnreadCount = TypeOf<typeof unreadCount>;

const inboxListing = object({
  notifications: array(inboxEntry),
  /** `before` of the next page; null on the last page. */
  next: nullable(text()),
  /** Number of rows of this page that cannot be decrypted. */
  damaged: integer(),
  unread: unreadCount,
  /** Start position for the live events that follow this list; null for further pages. */
  position: nullable(text()),
});
export type InboxListing = TypeOf<typeof inboxListing>;

const searchLine = union(
  object({ kind: oneOf(['match']), notification: inboxEntry }),
  /** At least twice a second. `reachedAt` is the time of the oldest notification searched so far. */
  object({ kind: oneOf(['progress']), opened: integer(), matched: integer(), reachedAt: integer() }),
  /**
   * `next` is `before` of a search that continues here; null: everything was searched. `skipped` notifications took too
   * long, so whether they match is unknown.
   */
  object({
    kind: oneOf(['end']),
    opened: integer(),
    matched: integer(),
    damaged: integer(),
    skipped: integer(),
    next: nullable(text()),
  }),
  object({ kind: oneOf(['failed']), error: text() }),
);
export type SearchLine = TypeOf<typeof searchLine>;

const deliveryEntry = object({
  /** Name of the channel. */
  channel: text(),
  /** Id of the target; empty if the owner has only one on this channel. */
  target: text(),
  /** Current name of the target; null after it was deleted. */
  name: nullable(text()),
  /**
   * `sending`: the first attempt is in flight. `sent`: the provider accepted it. `queued`: it waits in the queue of a
   * device of the embedded broker. `delivered`: that device has received it. `waiting`: it will be retried. `dead`: retries
   * have ended. `gone`: the target is deleted. `rejected`: the provider will never accept it.
   */
  state: oneOf(['sending', 'sent', 'queued', 'delivered', 'waiting', 'dead', 'gone', 'rejected']),
  /** Number of attempts after the first. */
  retries: integer(),
  nextAt: nullable(integer()),
  endedAt: nullable(integer()),
  /** Error of the last failed attempt. */
  error: nullable(text()),
});
/** Delivery status of one target. */
export type DeliveryEntry = TypeOf<typeof deliveryEntry>;

const inboxDetail = object({ notification: inboxEntry, deliveries: array(deliveryEntry) });
export type InboxDetail = TypeOf<typeof inboxDetail>;

const liveEvent = union(
  object({ event: oneOf(['arrived']), data: object({ notification: inboxEntry, unread: unreadCount }) }),
  object({ event: oneOf(['changed']), data: object({ unread: unreadCount }) }),
  object({ event: oneOf(['signed-out']), data: object({}) }),
);
/** `changed`: notifications were read, deleted or restored, or too many arrived to send each. `signed-out` ends the stream. */
export type LiveEvent = TypeOf<typeof liveEvent>;

const limit = withDefault(integer({ minimum: 1, maximum: 100 }), 50);
const isUnread = oneOf(['0', '1']);

/** One or more of the words, separated by commas. */
function wordList(...words: readonly (readonly string[])[]): Schema<string> {
  const word = `(${words.flat().join('|')})`;
  return text({ maxLength: 100, pattern: `^${word}(,${word})*$` });
}

const ids = array(notificationId, { minItems: 1, maxItems: 500 });
const through = exact(object({ through: notificationId }));
const count = object({ count: integer() });

export const inboxOperations = {
  listNotifications: { query: object({ limit }, { before: notificationId, unread: isUnread }), response: inboxListing },
  countUnread: { response: unreadCount },
  /**
   * application/x-ndjson: one SearchLine per line, newest notification first. Closing the connection cancels the search.
   * The severity `none` selects notifications without a severity.
   */
  searchNotifications: {
    query: object(
      { limit, q: withDefault(text({ maxLength: 200 }), '') },
      {
        before: notificationId,
        unread: isUnread,
        severity: wordList(severities, ['none']),
        category: wordList(categories),
      },
    ),
    stream: searchLine,
  },
  getNotification: { response: inboxDetail },
  /** Makes waiting and dead deliveries due now. */
  retryDeliveries: {
    body: exact(object({}, { channel: text({ maxLength: 64 }), target: text({ maxLength: 64 }) })),
    response: count,
  },
  markRead: { body: exact(object({ ids, isRead: flag() })), status: 204 },
  markAllRead: { body: through, status: 204 },
  /** `isUndone` is false if another change came in between. */
  undoMarkAllRead: { body: through, response: object({ isUndone: flag() }) },
  deleteNotifications: { body: exact(object({ ids })), response: count },
  restoreNotifications: { body: exact(object({ ids })), response: count },
  /**
   * text/event-stream. The event id of `arrived` is the id of the notification. A client that reconnects with
   * Last-Event-ID gets the notifications that it missed, or `changed` if there are many. With the `position` of a list the
   * stream continues where that list ends; notifications of the list may be sent again. A value that is not a position is ignored.
   */
  streamEvents: { query: object({}, { position: union(text(), array(text())) }), stream: liveEvent },
} as const satisfies Record<string, Operation>;
