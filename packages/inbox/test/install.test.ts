// The app on a phone: small first load, installable, usable offline.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectNoSidewaysScroll } from './support/expectations.ts';
import { waitForController } from './support/push-messages.ts';
import { serveVersions } from './support/serve-versions.ts';

interface Icon {
  src: string;
  sizes: string;
  type: string;
  purpose?: string;
}

const firstLoadBytes = 100 * 1024;

/** Bytes received for everything that the page loads, including headers. */
async function bytesOf(page: Page, path: string): Promise<number> {
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await session.send('Network.enable');
  await page.goto(path, { waitUntil: 'load' });
  await page.getByRole('heading').first().waitFor();
  await session.detach();
  return bytes;
}

suite('The app on a phone', () => {
  const inbox = openInbox();

  inbox.test('loads with less than 100 KiB, signed in or not', async (t) => {
    const signedOut = await bytesOf(await inbox.newPage(t), '/sign-in');
    const owner = await bytesOf(await inbox.newPage(t, { signedIn: true }), '/');
    t.diagnostic(`sign-in ${Math.round(signedOut / 1024)} KiB, inbox ${Math.round(owner / 1024)} KiB`);
    assert.ok(signedOut > 1000 && signedOut < firstLoadBytes, `the sign-in page takes ${signedOut} bytes`);
    assert.ok(owner > 1000 && owner < firstLoadBytes, `the inbox takes ${owner} bytes`);
  });

  inbox.test(
    'is installable: its manifest has no errors, and its icons have the declared types and sizes',
    async (t) => {
      const page = await inbox.newPage(t, { signedIn: true });
      await page.goto('/');
      const session = await page.context().newCDPSession(page);
      const { url, errors, data } = await session.send('Page.getAppManifest');
      assert.equal(url, `${inbox.origin}/manifest.webmanifest`);
      assert.deepEqual(errors, []);
      const manifest = JSON.parse(data ?? '') as { start_url: string; display: string; icons: Icon[] };
      assert.deepEqual([manifest.start_url, manifest.display], ['/', 'standalone']);
      const icons = [...manifest.icons, { src: '/icon-180.png', sizes: '180x180', type: 'image/png' }];
      for (const { src, sizes, type } of icons) {
        const response = await page.request.get(src);
        assert.equal(response.headers()['content-type'], type, src);
        if (type !== 'image/png') continue;
        // Width and height are in the first chunk of a PNG.
        const png = await response.body();
        assert.equal(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`, sizes, src);
      }
      assert.ok(manifest.icons.some(({ purpose }) => purpose === 'maskable'));
    },
  );

  inbox.test('opens offline with the last items and a banner', async (t) => {
    await inbox.post({ title: 'Seen before going offline', body: 'All is well.', severity: 'warning' });
    const page = await inbox.newPage(t, {
      signedIn: true,
      viewport: phone,
      expectedErrors: /ERR_INTERNET_DISCONNECTED/,
    });
    await page.goto('/');
    await waitForController(page);
    await page.getByText('Seen before going offline').first().waitFor();
    await page.context().setOffline(true);
    for (const path of ['/', '/settings', '/']) {
      await page.goto(path);
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
    }
    await page.getByText('Seen before going offline').first().waitFor();
    await page.getByText('cannot be reached').first().waitFor();
    await expectNoSidewaysScroll(page);
    await page.context().setOffline(false);
    await page.goto('/');
    await inbox.post({ title: 'Back online' });
    await page.getByText('Back online').first().waitFor();
  });

  inbox.test('caches the files of the app and no response of the API', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/');
    await waitForController(page);
    await page.goto('/settings');
    const cached = await page.evaluate(async () => {
      const names = await caches.keys();
      const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
      return { names, paths: requests.flat().map(({ url }) => new URL(url).pathname) };
    });
    assert.equal(cached.names.length, 1);
    assert.ok(cached.paths.includes('/index.html'));
    assert.ok(
      cached.paths.some((path) => /^\/assets\/settings-page-.*\.js$/.test(path)),
      cached.paths.join(' '),
    );
    assert.deepEqual(
      cached.paths.filter((path) => path.startsWith('/api') || path === '/sw.js'),
      [],
    );
  });

  inbox.test('deletes the offline data of an owner who signs out', async (t) => {
    const owner = await inbox.signIn(inbox.gateway.line.firstRun?.owner ?? '');
    await inbox.post({ title: 'Private note' });
    const page = await inbox.newPage(t, { signedIn: owner, expectedErrors: /status of 401|ERR_INTERNET_DISCONNECTED/ });
    await page.goto('/');
    await waitForController(page);
    await page.getByText('Private note').first().waitFor();
    await page.goto('/settings');
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.waitForFunction(() => document.querySelector('nav[aria-label="Main"]') === null);
    await page.context().setOffline(true);
    await page.goto('/');
    await page.getByText('cannot be reached').first().waitFor();
    assert.equal(await page.getByText('Private note').count(), 0);
    const values = await page.evaluate(async () => {
      const request = indexedDB.open('tocsin', 1);
      await new Promise((resolve) => Object.assign(request, { onsuccess: resolve }));
      const all = request.result.transaction('values').objectStore('values').getAll();
      await new Promise((resolve) => Object.assign(all, { onsuccess: resolve }));
      return JSON.stringify([all.result, { ...localStorage }]);
    });
    assert.doesNotMatch(values, /Private note/);
  });

  inbox.test('shows a new version on the next load, without a second reload, and offline from then on', async (t) => {
    const site = await serveVersions();
    t.after(() => site.stop());
    const page = await inbox.newPage(t, {
      otherHosts: [new URL(site.origin).host],
      expectedErrors: /status of 404|ERR_INTERNET_DISCONNECTED/,
    });
    const version = (): Promise<string | null> => page.locator('meta[name=version]').getAttribute('content');
    await page.goto(site.origin);
    await waitForController(page);
    let loads = 0;
    page.on('load', () => {
      loads += 1;
    });
    for (const next of ['2', '3']) {
      await site.release(next);
      await page.goto(site.origin);
      assert.equal(await version(), next);
      const cachedVersions = (): Promise<string[]> => page.evaluate(() => caches.keys());
      await eventually('the old versions are deleted', 20_000, cachedVersions, (names) => {
        return names.some((name) => name.endsWith(`-${next}`)) && names.length <= 2;
      });
    }
    assert.equal(loads, 2);
    await page.context().setOffline(true);
    await page.goto(`${site.origin}/inbox/1`);
    assert.equal(await version(), '3');
  });
});
