// Notifications, idempotency keys and used signatures.
import type { Original } from '@tocsin/contract';
import type { Notification } from '../../core/notification.ts';
import type { QueuedMessage } from '../../core/reservation.ts';
import type { Dispatch, DispatchResults } from './deliveries.ts';

export type { Notification } from '../../core/notification.ts';

export interface NotificationPage {
  notifications: Notification[];
  /** Ids of rows that cannot be decrypted: they were altered, or their key is missing. */
  damaged: string[];
  /** Where the next page starts; undefined on the last. */
  next: string | undefined;
}

/** Rows that are written in the same transaction as the notification. */
export interface SaveOptions {
  dispatch: Dispatch | null;
  idempotency: IdempotencyClaim | null;
  /** Until when this process is responsible for both; another process may claim them afterwards. */
  leaseUntil: number;
  /** Of a hook: what its sender has sent. */
  original?: Original | undefined;
  /** For queues of the embedded broker. */
  messages?: readonly QueuedMessage[];
  /** The dispatch is settled with these results if all messages are queued. */
  resultsIfQueued?: DispatchResults | null;
}

/**
 * `saved`: with all its messages. `duplicate`: the idempotency key is in use, and nothing was stored. Otherwise the indexes
 * of messages whose session or device was deleted meanwhile; the dispatch is then not settled.
 */
export type Saved = 'saved' | 'duplicate' | { notQueued: readonly number[] };

export interface IdempotencyClaim {
  keyDigest: string;
  /** Digest of the request; a different request with the same key is refused. */
  fingerprint: string;
  expiresAt: number;
}

/** An idempotency key in use. */
export interface IdempotencyRecord {
  fingerprint: string;
  notificationId: string;
  leaseUntil: number;
  /** null until the response to the first request is known, and if its process died before that. */
  answer: StoredResponse | null;
}

export interface StoredResponse {
  status: number;
  body: string;
}

/** The part of the repository that accepting a request needs. */
export type NotificationWriter = Pick<NotificationRepository, 'save'>;

export interface NotificationRepository {
  /** Resolves once the encrypted row is durable. Rejects with StoreUnavailable or EncryptionKeyMissing. */
  save(notification: Notification, options?: SaveOptions): Promise<Saved>;
  find(ownerId: string, id: string): Promise<Notification | null>;
  /** What was sent to a hook; null: the notification is not of a hook. */
  findOriginal(ownerId: string, id: string): Promise<Original | null>;
  /** Newest first, or with `after` oldest first. `before` or `after` is `next` of the previous page, or empty. */
  list(ownerId: string, page: { limit: number; before?: string; after?: string }): Promise<NotificationPage>;
}

export interface IdempotencyRepository {
  find(ownerId: string, keyDigest: string, now: number): Promise<IdempotencyRecord | null>;
  /** Keeps the response for repeated requests; resolves once durable. A response that is stored is not replaced. */
  saveResponse(ownerId: string, keyDigest: string, response: StoredResponse): Promise<void>;
}

export interface SignatureRepository {
  /** True the first time; false if this owner's signature was used before and has not expired. */
  claim(ownerId: string, signature: string, expiresAt: number): Promise<boolean>;
}
