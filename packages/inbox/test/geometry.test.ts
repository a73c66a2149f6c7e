// Every page at every width, with and without the network: headings and controls are on the screen and not covered.
import assert from 'node:assert/strict';
import { suite, type TestContext } from 'node:test';
import type { DeviceWithSettings } from '@tocsin/contract/console';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import type { Page } from 'playwright-core';
import { openInbox } from './support/browser.ts';
import { expectNoSidewaysScroll } from './support/expectations.ts';
import {
  countLines,
  expectAllOnScreen,
  expectInReach,
  expectInside,
  expectNotClipped,
  expectOnScreen,
  expectPageInTheMiddle,
  viewports,
} from './support/geometry.ts';
import { waitForController } from './support/push-messages.ts';

type Connection = 'online' | 'offline' | 'server down';
type Device = keyof typeof viewports;

/** A long run opens each page in each size; a short run opens it once and resizes the window. */
const groups: Device[][] = isLongRun
  ? (Object.keys(viewports) as Device[]).map((device) => [device])
  : [['a small phone', 'a desktop']];

suite('The layout of the pages', () => {
  const inbox = openInbox();

  for (const sizes of groups) {
    inbox.test(`is usable on ${sizes.join(', ')}, online and offline`, async (t) => {
      await inbox.post({ title: 'Disk almost full', body: 'On db-1.', severity: 'warning', data: { used: '91 %' } });
      const viewport = viewports[sizes[0] as Device];
      const page = await inbox.newPage(t, { signedIn: true, viewport, expectedErrors: /ERR_INTERNET_DISCONNECTED/ });
      const paths = await loadOnce(page);
      for (const path of paths) await expectUsable(page, path, 'online', sizes);
      await page.context().setOffline(true);
      for (const path of paths) await expectUsable(page, path, 'offline', sizes);
    });
  }

  inbox.test(
    'shows the whole topic of a device on every screen, wrapped where it is narrow, and copies it',
    async (t) => {
      const owner = await inbox.owner();
      const { body } = await owner.post<DeviceWithSettings>('/api/devices', { name: 'Kitchen display' });
      const { topic } = body.mqtt;
      const permissions = ['clipboard-read', 'clipboard-write'];
      const page = await inbox.newPage(t, { signedIn: true, permissions });
      await page.goto('/devices');
      const card = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Kitchen display' }) });
      const shown = card.getByText(topic, { exact: true });
      const copy = card.getByRole('button', { name: 'Copy the topic of Kitchen display' });
      for (const [device, viewport] of Object.entries(viewports)) {
        await page.setViewportSize(viewport);
        await expectInReach(shown, `the topic on ${device}`);
        await expectInside(card, shown, `the topic on ${device}`);
        await expectInside(card, copy, `the copy button on ${device}`);
        await expectNoSidewaysScroll(page);
        await expectNotClipped(shown, `the topic on ${device}`);
      }
      assert.equal(await countLines(shown), 1, 'one line on a desktop');
      await page.setViewportSize(viewports['a small phone']);
      assert.ok((await countLines(shown)) > 1, 'several lines on a small phone');
      await copy.click();
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), topic);
    },
  );

  inbox.test('shows the whole sign-in page, online and offline', async (t) => {
    for (const sizes of groups) {
      const viewport = viewports[sizes[0] as Device];
      const page = await inbox.newPage(t, { viewport, expectedErrors: /status of 401|ERR_INTERNET_DISCONNECTED/ });
      await page.goto('/');
      await waitForController(page);
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

  // This must be the last test, because it stops the service.
  inbox.test('is usable while the server is down', async (t: TestContext) => {
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

/** Loads the app so that the service worker and the offline cache are filled; returns the addresses of all pages. */
async function loadOnce(page: Page): Promise<string[]> {
  await page.goto('/');
  await waitForController(page);
  const row = page.locator('.inbox-row > a').first();
  await row.waitFor();
  const detail = (await row.getAttribute('href')) ?? '';
  assert.match(detail, /^\/inbox\//);
  return ['/', detail, '/devices', '/keys', '/owners', '/docs', '/settings', '/unknown'];
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
    // The bar at the bottom does not cover the last control of the page.
    const last = page.locator('main :is(a, button, input, select):visible').last();
    if (path !== '/') await expectInReach(last, `the last control ${where}`);
  });
}

/** Resizes the window to each size, with the page scrolled to its top. */
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
