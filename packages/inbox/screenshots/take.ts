// Takes the screenshots in the documentation from the running service: npm run screenshots
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { InboxSite } from '../test/support/browser.ts';
import { fillHistory, newest } from './example.ts';

const folder = fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const sizes = {
  desktop: { viewport: { width: 1280, height: 880 }, deviceScaleFactor: 1 },
  phone: { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2 },
} as const;

const site = new InboxSite('whole');
await mkdir(folder, { recursive: true });
// The SMTP server is unreachable, so that the screenshots show a delivery that waits for a retry.
await site.open({
  TOCSIN_SMTP_URL: 'smtp://127.0.0.1:9',
  TOCSIN_EMAIL_FROM: 'tocsin@example.com',
  TOCSIN_LOG_LEVEL: 'silent',
});
try {
  const { id } = await prepare();
  for (const [size, options] of Object.entries(sizes)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const owner = await site.owner();
      const context = await site.browser.newContext({
        baseURL: site.origin,
        colorScheme,
        permissions: ['notifications'],
        ...options,
      });
      const take = async (page: Page, name: string): Promise<void> => {
        await page.screenshot({ path: `${folder}${name}-${size}-${colorScheme}.png` });
      };
      const page = await context.newPage();
      // Wait for the logo, which is a separate file.
      await page.goto('/sign-in', { waitUntil: 'networkidle' });
      await page.getByRole('heading').first().waitFor();
      await take(page, 'sign-in');
      await context.addCookies([...owner.cookies].map(([name, value]) => ({ name, value, url: site.origin })));
      for (const [name, path, ready] of [
        ['inbox', '/', [newest.title]],
        ['detail', `/inbox/${id}`, [newest.data.host, 'Nightly sync finished', 'Email']],
        ['devices', '/devices', ['Kitchen display']],
        ['keys', '/keys', ['Uptime monitor']],
      ] as const) {
        await page.goto(path);
        for (const text of ready) await page.getByText(text).first().waitFor({ state: 'attached' });
        await take(page, name);
      }
      await context.close();
    }
  }
} finally {
  await site.close();
}

async function prepare(): Promise<{ id: string }> {
  const { installation, gateway } = site;
  const ownerId = gateway.line.firstRun?.owner ?? '';
  await installation.json(
    'owner',
    'set',
    ownerId,
    '--name',
    'Home lab',
    '--email',
    'alerts@example.com',
    '--email-alerts',
    'on',
  );
  await fillHistory(installation.dataDir, ownerId);
  const owner = await site.owner();
  await owner.post('/api/notifications/read-all', { through: await newestId(owner) });
  for (const name of ['Kitchen display', 'Workshop panel']) await owner.post('/api/devices', { name });
  for (const [label, rateLimit, allowedDomains] of [
    ['CI pipeline', '100/m', []],
    ['Uptime monitor', null, []],
    ['Shop website', '20/s', ['shop.example.com', '*.shop.example.com']],
  ] as const) {
    const settings = { type: 'public_client', requireSignature: false, expiresAt: null };
    await owner.post('/api/keys', { ...settings, label, rateLimit, allowedDomains });
  }
  await site.post({
    title: 'Nightly sync finished',
    source: 'rclone',
    severity: 'info',
    body: '1,204 files, no conflicts.',
    sendEmail: false,
  });
  const { id } = await site.post(newest);
  return { id: id as string };
}

async function newestId(owner: Awaited<ReturnType<InboxSite['owner']>>): Promise<string> {
  const { body } = await owner.get('/api/notifications?limit=3');
  // The two newest stay unread.
  return (body as { notifications: { id: string }[] }).notifications.at(2)?.id ?? '';
}
