// Notifications, and what is stored together with them.
import type { Category, JsonObject, Severity } from '@tocsin/contract';
import type { Dispatch } from './deliveries.ts';

export interface NotificationContent {
  title: string;
  body: string;
  source: string;
  category: Category;
  severity: Severity | null;
  data: JsonObject;
}

export interface Notification extends NotificationContent {
  id: string;
  ownerId: string;
  createdAt: number;
}

export interface NotificationPage {
  notifications: Notification[];
  /** Ids of rows that do not open: they were altered, or the key they were sealed with is gone. */
  damaged: string[];
  /** Where the next page starts; undefined on the last. */
  next: string | undefined;
}

/** What goes into the store together with a notification, or not at all. */
export interface SaveOptions {
  dispatch: Dispatch | null;
  idempotency: IdempotencyClaim | null;
  /** Until when this process answers for both; another may take over afterwards. */
  leaseUntil: number;
}

export interface IdempotencyClaim {
  keyDigest: string;
  /** Of the request; another one under the same key is refused. */
  fingerprint: string;
  expiresAt: number;
}

/** An idempotency key in use. */
export interface IdempotencyRecord {
  fingerprint: string;
  notificationId: string;
  leaseUntil: number;
  /** null while the first request is being answered, or when its process died. */
  answer: FirstAnswer | null;
}

export interface FirstAnswer {
  status: number;
  body: string;
}

/** The part of the store that serving a request needs. */
export interface NotificationStore {
  /**
   * Resolves once the sealed row is durable; `duplicate` when the idempotency key was taken before, and then nothing is
   * stored. Rejects with StoreUnavailable or EncryptionKeyMissing.
   */
  save(notification: Notification, options?: SaveOptions): Promise<'saved' | 'duplicate'>;
}

/** What came in before. */
export interface HistoryStore {
  findNotification(ownerId: string, id: string): Promise<Notification | null>;
  /** Newest first, or with `after` oldest first; `before` or `after` is `next` of the page that precedes, or empty. */
  listNotifications(
    ownerId: string,
    page: { limit: number; before?: string; after?: string },
  ): Promise<NotificationPage>;
}

export interface IdempotencyStore {
  findIdempotent(ownerId: string, keyDigest: string, now: number): Promise<IdempotencyRecord | null>;
  /** Keeps the answer for whoever repeats the request; resolves once durable. The first one stays. */
  answerIdempotent(ownerId: string, keyDigest: string, answer: FirstAnswer): Promise<void>;
}

export interface SignatureStore {
  /** True the first time; false when this owner's signature was used before and has not expired. */
  claimSignature(ownerId: string, signature: string, expiresAt: number): Promise<boolean>;
}
