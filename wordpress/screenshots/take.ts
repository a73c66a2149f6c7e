// Takes the screenshots of the screens in wp-admin for the documentation: node wordpress/screenshots/take.ts
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { AdminBrowser } from '../test/support/admin-browser.ts';
import { WordPressSite } from '../test/support/wordpress-site.ts';
import { fillSite } from './example.ts';

const folder = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const cleanUps: (() => unknown)[] = [];
const t = { after: (cleanUp: () => unknown) => cleanUps.unshift(cleanUp) };

await mkdir(folder, { recursive: true });
const installation = await Installation.create();
t.after(() => installation.remove());
try {
  const site = await WordPressSite.create();
  t.after(() => site.remove());
  const browser = await AdminBrowser.open();
  t.after(() => browser.close());
  const gateway = await installation.serve();
  await site.serve();
  await fillSite(site, gateway);
  const page = await browser.newPage(t, site, { viewport: { width: 1280, height: 800 } });

  await page.goto('/wp-admin/admin.php?page=tocsin');
  await page.getByRole('button', { name: 'Send monitoring check' }).click();
  await page.getByText('The gateway accepted the monitoring check.').waitFor();
  await page.getByRole('button', { name: 'Dismiss this notice.' }).waitFor();
  await page.screenshot({ path: `${folder}wordpress-connection.png` });

  await page.goto('/wp-admin/admin.php?page=tocsin-templates');
  await page.getByRole('group', { name: 'Post published', exact: true }).getByText('Text and severity').click();
  await page.screenshot({ path: `${folder}wordpress-templates.png` });

  await page.goto('/wp-admin/admin.php?page=tocsin-log');
  await page.locator('#the-list summary').nth(1).click();
  await page.screenshot({ path: `${folder}wordpress-log.png` });
} finally {
  for (const cleanUp of cleanUps) await cleanUp();
}
