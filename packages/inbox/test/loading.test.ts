// The start of the app on a slow network.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import type { Page, Request } from 'playwright-core';
import { openInbox } from './support/browser.ts';
import { expectOnScreen, viewports } from './support/geometry.ts';

/** Collects the query strings of GET /api/notifications. */
function listRequests(page: Page): string[] {
  const seen: string[] = [];
  page.on('request', (request: Request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname === '/api/notifications') seen.push(search);
  });
  return seen;
}

suite('The app while it loads', () => {
  const inbox = openInbox();

  inbox.test('shows the splash before any script has loaded, at every size and in both themes', async (t) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await inbox.newPage(t, { signedIn: true, colorScheme });
      await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'serviceWorker'));
      const scripts = Promise.withResolvers<void>();
      await page.route('**/assets/*.js', async (route) => {
        await scripts.promise;
        await route.continue();
      });
      await page.goto('/', { waitUntil: 'commit' });
      const splash = page.locator('.splash');
      await splash.getByText('Tocsin').waitFor();
      // Resizing is equivalent to opening the page in that size, because no script has run yet.
      for (const viewport of Object.values(viewports)) {
        await page.setViewportSize(viewport);
        await expectOnScreen(splash.locator('strong'), 'the name');
        await expectOnScreen(splash.locator('img'), 'the mark');
        await expectOnScreen(splash.locator('.spinner'), 'the spinner');
      }
      scripts.resolve();
      await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
      assert.equal(await splash.count(), 0);
    }
  });

  inbox.test('loads the list once on a slow network, and misses no notification that arrives meanwhile', async (t) => {
    await inbox.post({ title: 'There before' });
    const page = await inbox.newPage(t, { signedIn: true });
    await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'serviceWorker'));
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    const slow = { offline: false, latency: 400, downloadThroughput: 30_000, uploadThroughput: 30_000 };
    await session.send('Network.emulateNetworkConditions', slow);
    const lists = listRequests(page);
    // The list has been loaded, and the event stream is not open yet.
    await page.route('**/api/events*', async (route) => {
      await inbox.post({ title: 'Between list and stream' });
      await route.continue();
    });
    await page.goto('/', { waitUntil: 'commit' });
    await page.getByText('There before').first().waitFor();
    await page.getByText('Between list and stream').first().waitFor();
    await inbox.post({ title: 'Live' });
    await page.getByText('Live', { exact: true }).first().waitFor();
    assert.deepEqual(lists, ['?limit=50']);
  });

  inbox.test('loads the list once on every page', async (t) => {
    await inbox.post({ title: 'Unread' });
    for (const path of ['/?unread=1', '/devices', '/settings']) {
      const page = await inbox.newPage(t, { signedIn: true });
      const lists = listRequests(page);
      const stream = page.waitForResponse((response) => new URL(response.url()).pathname === '/api/events');
      await page.goto(path);
      await stream;
      await page.waitForFunction(() => document.title.startsWith('('));
      const title = await page.title();
      await inbox.post({ title: `After ${path}` });
      // The stream updates the count; a list request at the start of the stream would have finished before that.
      await page.waitForFunction((before) => document.title !== before, title);
      assert.equal(lists.length, 1, `${path}: ${lists.join(' ')}`);
    }
  });
});
