// Where a list ends and the live events after it begin, so that a page reads the list once and misses nothing.
import { firstIdAt } from '../../core/uuid-v7.ts';
import type { Store } from '../../usecases/ports/index.ts';
import { lookBackMs } from './live-feed.ts';
import { isNotificationId } from './schemas.ts';

export interface Position {
  /** What was stored after the list was read has a greater id. Some of the list may have one too. */
  after: string;
  /** Of the inbox when the list was read. */
  generation: number;
}

/** To be read before the list is. */
export async function readPosition(store: Pick<Store, 'inbox'>, ownerId: string, now: number): Promise<string> {
  const after = firstIdAt(now - lookBackMs);
  const [news] = await store.inbox.readNews([{ ownerId, after }], 1);
  return `${news?.generation ?? 0}:${after}`;
}

/** null for what is no position. */
export function parsePosition(text: string | undefined): Position | null {
  const [, generation = '', after = ''] = /^(\d{1,15}):(.*)$/.exec(text ?? '') ?? [];
  return isNotificationId(after) ? { after, generation: Number(generation) } : null;
}
