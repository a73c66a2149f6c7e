// The text of waiting messages is on disk only in the encrypted rows of their notifications; it is built from them again.
import { EncryptionKeyMissing, SealBroken, type Store } from '../../../gateway/ports.ts';
import { messageOf } from '../format.ts';

const maxBytes = 8 * 1024 * 1024;

export class Payloads {
  readonly #store: Pick<Store, 'findNotification'>;
  readonly #onFailed: (error: unknown) => void;
  /** What was published just now, oldest first, for clients that are a little behind. */
  readonly #recent = new Map<string, Buffer>();
  #bytes = 0;

  constructor(store: Pick<Store, 'findNotification'>, onFailed: (error: unknown) => void) {
    this.#store = store;
    this.#onFailed = onFailed;
  }

  remember(ownerId: string, notificationId: string, payload: Buffer): void {
    const key = `${ownerId}/${notificationId}`;
    if (this.#recent.has(key)) return;
    this.#recent.set(key, payload);
    this.#bytes += payload.length;
    for (const [oldest, { length }] of this.#recent) {
      if (this.#bytes <= maxBytes) break;
      this.#recent.delete(oldest);
      this.#bytes -= length;
    }
  }

  /** null when the notification was deleted, or can never be decrypted. Rejects when the store fails. */
  async find(ownerId: string, notificationId: string): Promise<Buffer | null> {
    const recent = this.#recent.get(`${ownerId}/${notificationId}`);
    if (recent !== undefined) return recent;
    try {
      const notification = await this.#store.findNotification(ownerId, notificationId);
      return notification === null ? null : messageOf(notification);
    } catch (error) {
      if (!(error instanceof SealBroken || error instanceof EncryptionKeyMissing)) throw error;
      this.#onFailed(error);
      return null;
    }
  }
}
