// The text of waiting messages is on disk only in the encrypted rows of their notifications; it is built from them again.
import { DecryptionFailed, EncryptionKeyMissing, type Store } from '../../../usecases/ports/index.ts';
import { messageOf } from '../format.ts';

/** null when the notification was deleted, or can never be decrypted. Rejects when the store fails. */
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
