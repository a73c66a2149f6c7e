// Every page at every width, with and without the network: what a person needs is on the screen and not covered.
import assert from 'node:assert/strict';
import { suite, type TestContext } from 'node:test';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import type { Page } from 'playwright-core';
import { openInbox } from './support/browser.ts';
import { expectNoSidewaysScroll } from './support/expectations.ts';
import {
  expectAllOnScreen,
  expectInReach,
  expectNotClipped,
  expectOnScreen,
  expectPageInTheMiddle,
  viewports,
} from './support/geometry.ts';
import { controlled } from './support/pushed.ts';

type Connection = 'online' | 'offline' | 'server down';
type Device = keyof typeof viewports;

/** In a long run each page is opened in each size; in a short one it is opened once, and its window takes two. */
const groups: Device[][] = isLongRun
  ? (Object.keys(viewports) as Device[]).map((device) => [device])
  : [['a small phone', 'a desktop']];

suite('The pages on the screen', () => {
  const inbox = openInbox();

  for (const sizes of groups) {
    inbox.test(`can be seen and used on ${sizes.join(', ')}, online and without the network`, async (t) => {
      await inbox.post({ title: 'Disk almost full', body: 'On db-1.', severity: 'warning', data: { used: '91 %' } });
      const viewport = viewports[sizes[0] as Device];
      const page = await inbox.newPage(t, { signedIn: true, viewport, expectedErrors: /ERR_INTERNET_DISCONNECTED/ });
      const paths = await loadOnce(page);
      for (const path of paths) await expectUsable(page, path, 'online', sizes);
      await page.context().setOffline(true);
      for (const path of paths) await expectUsable(page, path, 'offline', sizes);
    });
  }

  inbox.test('show the sign-in page whole, also without the network', async (t) => {
    for (const sizes of groups) {
      const viewport = viewports[sizes[0] as Device];
      const page = await inbox.newPage(t, { viewport, expectedErrors: /status of 401|ERR_INTERNET_DISCONNECTED/ });
      await page.goto('/');
      await controlled(page);
      const heading = page.getByRole('heading', { name: 'Sign in to Tocsin' });
      await inEach(page, sizes, () => expectOnScreen(heading, 'the heading'));
      await page.context().setOffline(true);
      await page.reload();
      await inEach(page, sizes, async () => {
        await expectOnScreen(page.getByRole('heading', { name: 'Tocsin cannot be reached' }), 'the heading');
        await expectOnScreen(page.getByRole('button', { name: 'Try again' }), 'the button');
        await expectBanner(page);
      });
    }
  });

  // Last: it stops the service.
  inbox.test('can be seen and used when the server is down', async (t: TestContext) => {
    const opened = [];
    for (const sizes of groups) {
      const viewport = viewports[sizes[0] as Device];
      const page = await inbox.newPage(t, { signedIn: true, viewport, expectedErrors: /ERR_CONNECTION_REFUSED/ });
      opened.push({ page, sizes, paths: await loadOnce(page) });
    }
    await inbox.gateway.stop();
    for (const { page, sizes, paths } of opened) {
      for (const path of paths) await expectUsable(page, path, 'server down', sizes);
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

async function expectUsable(page: Page, path: string, connection: Connection, sizes: Device[]): Promise<void> {
  await page.goto(path);
  const heading = page.locator(path.startsWith('/inbox/') ? '.inbox-detail h2' : 'h1');
  await heading.waitFor();
  await inEach(page, sizes, async (device) => {
    const where = `on ${path}, ${connection}, ${device}`;
    if (connection !== 'online') await expectBanner(page);
    await expectOnScreen(heading, `the heading ${where}`);
    await expectPageInTheMiddle(page);
    await expectAllOnScreen(page.locator('.nav a:visible'), `in the navigation ${where}`);
    await expectNoSidewaysScroll(page);
    // The last thing on the page is not left behind the bar at its foot.
    const last = page.locator('main :is(a, button, input, select):visible').last();
    if (path !== '/') await expectInReach(last, `the last control ${where}`);
  });
}

/** The window takes each size in turn, the page at its top. */
async function inEach(page: Page, sizes: Device[], expect: (device: Device) => Promise<void>): Promise<void> {
  for (const device of sizes) {
    if (sizes.length > 1) {
      await page.setViewportSize(viewports[device]);
      await page.evaluate(() => scrollTo(0, 0));
    }
    await expect(device);
  }
}

async function expectBanner(page: Page): Promise<void> {
  const banner = page.locator('.offline-banner');
  await banner.waitFor();
  await expectOnScreen(banner, 'the banner');
  await expectNotClipped(banner, 'the banner');
}
