// The newest notifications, kept on this device for when the console cannot be reached, until its owner signs out.
import type { InboxEntry } from '@tocsin/contract/console';
import { discard, keepWhileSignedIn, kept } from './kept-values.ts';

const name = 'last-items';
const most = 50;

/** Newest first. A browser that keeps nothing, as in some private windows, has nothing to show offline: no reason to fail. */
export async function saveLastItems(entries: readonly InboxEntry[]): Promise<void> {
  await keepWhileSignedIn(name, entries.slice(0, most)).catch(() => undefined);
}

export async function loadLastItems(): Promise<InboxEntry[]> {
  return (await kept<InboxEntry[]>(name).catch(() => undefined)) ?? [];
}

export async function clearLastItems(): Promise<void> {
  await discard(name).catch(() => undefined);
}
