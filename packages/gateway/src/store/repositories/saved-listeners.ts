// Reports to listeners of this process which owner's notifications it has stored, so that open inboxes need not wait for a poll.
import type { NotificationRepository, SavedListener } from '../../usecases/ports/index.ts';

export class SavedListeners {
  readonly #listeners = new Set<SavedListener>();

  add(listener: SavedListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  watch(notifications: NotificationRepository): NotificationRepository {
    return {
      ...notifications,
      save: (notification, options) => {
        const saving = notifications.save(notification, options);
        // Costs nothing while no inbox is open.
        if (this.#listeners.size > 0) void saving.then(() => this.#report(notification.ownerId)).catch(() => undefined);
        return saving;
      },
    };
  }

  #report(ownerId: string): void {
    for (const listener of this.#listeners) listener(ownerId);
  }
}
