// The text of waiting messages is on disk only in the sealed rows of their notifications; here it is built from them again.
import type { Store } from '../../../gateway/ports.ts';
import { StoreUnavailable } from '../../../gateway/ports.ts';
import { messageOf } from '../format.ts';

const maxBytes = 8 * 1024 * 1024;

export class Payloads {
  readonly #store: Pick<Store, 'findNotification'>;
  /** What was published just now, oldest first, for sessions that are there to take it. */
  readonly #recent = new Map<string, Buffer>();
  #bytes = 0;

  constructor(store: Pick<Store, 'findNotification'>) {
    this.#store = store;
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

  /** null when the notification was purged or does not open. Rejects with StoreUnavailable. */
  async find(ownerId: string, notificationId: string): Promise<Buffer | null> {
    const recent = this.#recent.get(`${ownerId}/${notificationId}`);
    if (recent !== undefined) return recent;
    try {
      const notification = await this.#store.findNotification(ownerId, notificationId);
      return notification === null ? null : messageOf(notification);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return null;
    }
  }
}
