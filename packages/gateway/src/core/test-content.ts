import type { NotificationContent } from '@tocsin/contract';

/** The notification of a test send, from the command line and from the settings page. */
export const testContent: NotificationContent = {
  title: 'Test from Tocsin',
  body: 'If you can read this, this channel works.',
  source: 'tocsin',
  category: 'info',
  severity: 'info',
  data: {},
};
