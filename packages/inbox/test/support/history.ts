// Writes older notifications to the store.
import { randomBytes } from 'node:crypto';
import type { NotificationContent } from '@tocsin/contract';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { withStore } from '@tocsin/test-support/stored-notifications.ts';
import type { Notification } from '../../../gateway/src/usecases/ports/index.ts';
import type { InboxSite } from './browser.ts';

/** Stores one notification per entry, a second apart, the last one at `endsAt`; returns their ids. */
export async function addHistory(
  site: InboxSite,
  contents: readonly Partial<NotificationContent>[],
  endsAt = Date.now() - 60_000,
): Promise<string[]> {
  const ownerId = site.gateway.line.firstRun?.owner ?? '';
  const notifications = contents.map((content, index): Notification => {
    const createdAt = endsAt - (contents.length - 1 - index) * 1000;
    return { id: idAt(createdAt), ownerId, createdAt, content: sampleContent({ source: 'history', ...content }) };
  });
  await withStore(site.installation.dataDir, (store) =>
    Promise.all(notifications.map((each) => store.notifications.save(each))),
  );
  return notifications.map(({ id }) => id);
}

/** A version 7 UUID. */
function idAt(time: number): string {
  const hex = time.toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
