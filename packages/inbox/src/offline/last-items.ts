// Caches the newest notifications in this browser for reading offline, until the owner signs out.
import type { InboxEntry } from '@tocsin/contract/console';
import { deleteValue, loadValue, saveWhileSignedIn } from './key-value-store.ts';

const key = 'last-items';
const maxItems = 50;

/** Expects the newest first. Ignores errors: some private windows have no IndexedDB, and then nothing is shown offline. */
export async function saveLastItems(entries: readonly InboxEntry[]): Promise<void> {
  await saveWhileSignedIn(key, entries.slice(0, maxItems)).catch(() => undefined);
}

export async function loadLastItems(): Promise<InboxEntry[]> {
  return (await loadValue<InboxEntry[]>(key).catch(() => undefined)) ?? [];
}

export async function clearLastItems(): Promise<void> {
  await deleteValue(key).catch(() => undefined);
}
