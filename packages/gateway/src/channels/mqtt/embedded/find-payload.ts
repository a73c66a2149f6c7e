// The payload of a queued message. It is not stored in the queue, but built again from the encrypted row of its notification.
import { DecryptionFailed, EncryptionKeyMissing, type Store } from '../../../usecases/ports/index.ts';
import { messageOf } from '../format.ts';

/** null if the notification was deleted or cannot be decrypted. Rejects when the store fails. */
export type FindPayload = (ownerId: string, notificationId: string) => Promise<Buffer | null>;

export function createFindPayload(store: Pick<Store, 'inbox'>, onFailed: (error: unknown) => void): FindPayload {
  return async (ownerId, notificationId) => {
    try {
      const notification = await store.inbox.find(ownerId, notificationId);
      return notification === null ? null : messageOf(notification);
    } catch (error) {
      if (!(error instanceof DecryptionFailed || error instanceof EncryptionKeyMissing)) throw error;
      onFailed(error);
      return null;
    }
  };
}
