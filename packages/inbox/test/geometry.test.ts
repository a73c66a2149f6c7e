// Every page at every width, with and without the network: what a person needs is on the screen and not covered.
import assert from 'node:assert/strict';
import { suite, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openInbox } from './support/browser.ts';
import { expectNoSidewaysScroll } from './support/expectations.ts';
import {
  expectInReach,
  expectNotClipped,
  expectOnScreen,
  expectPageInTheMiddle,
  viewports,
} from './support/geometry.ts';
import { controlled } from './support/pushed.ts';

type Connection = 'online' | 'offline' | 'server down';

suite('The pages on the screen', () => {
  const inbox = openInbox();

  for (const [device, viewport] of Object.entries(viewports)) {
    inbox.test(`can be seen and used on ${device}, online and without the network`, async (t) => {
      await inbox.post({ title: 'Disk almost full', body: 'On db-1.', severity: 'warning', data: { used: '91 %' } });
      const page = await inbox.newPage(t, { signedIn: true, viewport, expectedErrors: /ERR_INTERNET_DISCONNECTED/ });
      const paths = await loadOnce(page);
      for (const path of paths) await expectUsable(page, path, 'online');
      await page.context().setOffline(true);
      for (const path of paths) await expectUsable(page, path, 'offline');
    });
  }

  inbox.test('show the sign-in page whole, also without the network', async (t) => {
    for (const viewport of Object.values(viewports)) {
      const page = await inbox.newPage(t, { viewport, expectedErrors: /status of 401|ERR_INTERNET_DISCONNECTED/ });
      await page.goto('/');
      await controlled(page);
      await expectOnScreen(page.getByRole('heading', { name: 'Sign in to Tocsin' }), 'the heading');
      await page.context().setOffline(true);
      await page.reload();
      await expectOnScreen(page.getByRole('heading', { name: 'Tocsin cannot be reached' }), 'the heading');
      await expectOnScreen(page.getByRole('button', { name: 'Try again' }), 'the button');
      await expectBanner(page);
    }
  });

  // Last: it stops the service.
  inbox.test('can be seen and used when the server is down', async (t: TestContext) => {
    const opened = [];
    for (const viewport of Object.values(viewports)) {
      const page = await inbox.newPage(t, { signedIn: true, viewport, expectedErrors: /ERR_CONNECTION_REFUSED/ });
      opened.push({ page, paths: await loadOnce(page) });
    }
    await inbox.gateway.stop();
    for (const { page, paths } of opened) {
      for (const path of paths) await expectUsable(page, path, 'server down');
    }
  });
});

/** Loads the app, so that the service worker and this browser keep what they need; gives the addresses of all pages. */
async function loadOnce(page: Page): Promise<string[]> {
  await page.goto('/');
  await controlled(page);
  const row = page.locator('.inbox-row > a').first();
  await row.waitFor();
  const detail = (await row.getAttribute('href')) ?? '';
  assert.match(detail, /^\/inbox\//);
  return ['/', detail, '/devices', '/keys', '/owners', '/docs', '/settings', '/nowhere'];
}

async function expectUsable(page: Page, path: string, connection: Connection): Promise<void> {
  await page.goto(path);
  const where = `on ${path}, ${connection}`;
  const heading = page.locator(path.startsWith('/inbox/') ? '.inbox-detail h2' : 'h1');
  await heading.waitFor();
  if (connection !== 'online') await expectBanner(page);
  await expectOnScreen(heading, `the heading ${where}`);
  await expectPageInTheMiddle(page);
  for (const link of await page.locator('.nav a:visible').all())
    await expectOnScreen(link, `${await link.innerText()} in the navigation ${where}`);
  await expectNoSidewaysScroll(page);
  // The last thing on the page is not left behind the bar at its foot.
  const last = page.locator('main :is(a, button, input, select):visible').last();
  if (path !== '/') await expectInReach(last, `the last control ${where}`);
}

async function expectBanner(page: Page): Promise<void> {
  const banner = page.locator('.offline-banner');
  await banner.waitFor();
  await expectOnScreen(banner, 'the banner');
  await expectNotClipped(banner, 'the banner');
}
