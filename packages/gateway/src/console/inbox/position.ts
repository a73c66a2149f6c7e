// The position between a list and the live events after it, so that a page reads the list once and misses nothing.
import { isNotificationId } from '@tocsin/contract/console/inbox';
import { firstIdAt } from '../../core/uuid-v7.ts';
import type { Store } from '../../usecases/ports/index.ts';
import { lookBackMs } from './live-feed.ts';

export interface Position {
  /** Notifications stored after the list was read have greater ids. Some notifications of the list may, too. */
  after: string;
  /** Generation of the inbox when the list was read. */
  generation: number;
}

/** Must be read before the list. */
export async function readPosition(store: Pick<Store, 'inbox'>, ownerId: string, now: number): Promise<string> {
  const after = firstIdAt(now - lookBackMs);
  const [news] = await store.inbox.readNews([{ ownerId, after }], 1);
  return `${news?.generation ?? 0}:${after}`;
}

/** Returns null for text that is not a position. */
export function parsePosition(text: string | undefined): Position | null {
  const [, generation = '', after = ''] = /^(\d{1,15}):(.*)$/.exec(text ?? '') ?? [];
  return isNotificationId(after) ? { after, generation: Number(generation) } : null;
}
