import type { NotificationContent } from '@tocsin/contract';

/** The content of a notification, for tests that depend on few of its fields or on none. */
export function sampleContent(changes: Partial<NotificationContent> = {}): NotificationContent {
  return { title: 'Sample', body: '', source: 'test', category: 'info', severity: null, data: {}, ...changes };
}
