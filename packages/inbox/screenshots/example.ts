// Example notifications for the screenshots in the documentation.
import { randomUUID } from 'node:crypto';
import type { NotificationContent } from '@tocsin/contract';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { createUuidV7Source } from '../../gateway/src/core/uuid-v7.ts';
import { openStore } from '../../gateway/src/store/open-store.ts';

type Example = Partial<NotificationContent> & Pick<NotificationContent, 'title' | 'source'> & { minutesAgo: number };

const day = 24 * 60;

const examples: Example[] = [
  {
    minutesAgo: 4 * day + 200,
    title: 'Certificate renewed',
    source: 'caddy',
    body: 'shop.example.com is valid until 13 February.',
  },
  {
    minutesAgo: 3 * day + 90,
    title: 'Weekly report',
    source: 'analytics',
    category: 'promo',
    body: 'Visits were up by 12 % against last week.',
  },
  {
    minutesAgo: 2 * day + 400,
    title: 'Disk is 91 % full',
    source: 'nas',
    severity: 'warning',
    data: { volume: '/srv/media', used: '3.64 TB', free: '361 GB' },
  },
  {
    minutesAgo: day + 800,
    title: 'Deploy finished',
    source: 'github-actions',
    severity: 'info',
    body: 'web 4.12.0 is live on 3 of 3 hosts.',
  },
  {
    minutesAgo: day + 420,
    title: 'New order #10482',
    source: 'shop',
    category: 'task',
    data: { total: '€ 84.50', items: 3, paid: true },
  },
  {
    minutesAgo: day + 60,
    title: 'Login from a new country',
    source: 'vpn',
    severity: 'warning',
    body: 'A user signed in from an address that was never seen before.',
  },
  {
    minutesAgo: 610,
    title: 'Backup finished',
    source: 'restic',
    severity: 'info',
    body: '48 GB in 12 minutes, nothing skipped.',
  },
  {
    minutesAgo: 402,
    title: 'Build failed on main',
    source: 'github-actions',
    severity: 'error',
    body: '2 of 418 tests failed in packages/checkout.',
  },
  {
    minutesAgo: 214,
    title: 'Washing machine is done',
    source: 'home-assistant',
    category: 'task',
    data: { programme: 'Eco 40', energy: '0.61 kWh', duration: '3 h 12 min' },
  },
  {
    minutesAgo: 47,
    title: 'Payment provider is slow',
    source: 'uptime',
    severity: 'warning',
    body: 'p95 is 4.2 s over the last 10 minutes.',
  },
];

/** Stores the example notifications with times in the last days. */
export async function fillHistory(dataDir: string, ownerId: string): Promise<void> {
  const store = await openStore({ dataDir, masterKey: null }, 'existing');
  try {
    for (const { minutesAgo, ...changes } of examples) {
      const createdAt = Date.now() - minutesAgo * 60_000;
      const id = createUuidV7Source(() => createdAt, randomUUID)();
      await store.notifications.save({ id, ownerId, createdAt, content: sampleContent(changes) });
    }
  } finally {
    await store.close();
  }
}

/** The notification on the detail page. It is sent to the running service, so that the page shows its delivery status. */
export const newest = {
  title: 'Database does not respond',
  source: 'prometheus',
  severity: 'critical',
  body: 'db-2 has missed 5 checks in a row. Reads go to db-1; writes wait.\nhttps://wiki.example.com/runbooks/db-failover',
  data: {
    host: 'db-2.internal',
    since: '2026-11-15T08:12:40Z',
    checks: { missed: 5, lastError: 'connection timed out' },
    automaticFailover: false,
  },
};
