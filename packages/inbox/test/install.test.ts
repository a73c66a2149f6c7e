// The app on a phone: small at first sight, installable, and there without the network.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectNoSidewaysScroll } from './support/expectations.ts';
import { controlled } from './support/pushed.ts';
import { serveVersions } from './support/serve-versions.ts';

interface Icon {
  src: string;
  sizes: string;
  type: string;
  purpose?: string;
}

const firstLoadBytes = 100 * 1024;

/** What came over the wire for everything that the page loads, headers included. */
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

  inbox.test('is there with less than 100 KiB, signed in or not', async (t) => {
    const stranger = await bytesOf(await inbox.newPage(t), '/sign-in');
    const owner = await bytesOf(await inbox.newPage(t, { signedIn: true }), '/');
    t.diagnostic(`sign-in ${Math.round(stranger / 1024)} KiB, inbox ${Math.round(owner / 1024)} KiB`);
    assert.ok(stranger > 1000 && stranger < firstLoadBytes, `the sign-in page takes ${stranger} bytes`);
    assert.ok(owner > 1000 && owner < firstLoadBytes, `the inbox takes ${owner} bytes`);
  });

  inbox.test(
    'can be installed: the browser finds nothing wrong with its manifest, and its icons are what it says',
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
        // Width and height stand in the first chunk of a PNG.
        const png = await response.body();
        assert.equal(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`, sizes, src);
      }
      assert.ok(manifest.icons.some(({ purpose }) => purpose === 'maskable'));
    },
  );

  inbox.test('without the network it opens with what was there last, and says so', async (t) => {
    await inbox.post({ title: 'Seen before the tunnel', body: 'All is well.', severity: 'warning' });
    const page = await inbox.newPage(t, {
      signedIn: true,
      viewport: phone,
      expectedErrors: /ERR_INTERNET_DISCONNECTED/,
    });
    await page.goto('/');
    await controlled(page);
    await page.getByText('Seen before the tunnel').first().waitFor();
    await page.context().setOffline(true);
    for (const path of ['/', '/settings', '/']) {
      await page.goto(path);
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
    }
    await page.getByText('Seen before the tunnel').first().waitFor();
    await page.getByText('cannot be reached').first().waitFor();
    await expectNoSidewaysScroll(page);
    await page.context().setOffline(false);
    await page.goto('/');
    await inbox.post({ title: 'Back in the light' });
    await page.getByText('Back in the light').first().waitFor();
  });

  inbox.test('keeps the files of the app and nothing that the API says', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/');
    await controlled(page);
    await page.goto('/settings');
    const kept = await page.evaluate(async () => {
      const names = await caches.keys();
      const caught = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
      return { names, paths: caught.flat().map(({ url }) => new URL(url).pathname) };
    });
    assert.equal(kept.names.length, 1);
    assert.ok(kept.paths.includes('/index.html'));
    assert.ok(
      kept.paths.some((path) => /^\/assets\/settings-page-.*\.js$/.test(path)),
      kept.paths.join(' '),
    );
    assert.deepEqual(
      kept.paths.filter((path) => path.startsWith('/api') || path === '/sw.js'),
      [],
    );
  });

  inbox.test('forgets what it kept of the owner who signs out', async (t) => {
    const owner = await inbox.signIn(inbox.gateway.line.firstRun?.owner ?? '');
    await inbox.post({ title: 'For one pair of eyes' });
    const page = await inbox.newPage(t, { signedIn: owner, expectedErrors: /status of 401|ERR_INTERNET_DISCONNECTED/ });
    await page.goto('/');
    await controlled(page);
    await page.getByText('For one pair of eyes').first().waitFor();
    await page.goto('/settings');
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.waitForFunction(() => document.querySelector('nav[aria-label="Main"]') === null);
    await page.context().setOffline(true);
    await page.goto('/');
    await page.getByText('cannot be reached').first().waitFor();
    assert.equal(await page.getByText('For one pair of eyes').count(), 0);
    const values = await page.evaluate(async () => {
      const request = indexedDB.open('tocsin', 1);
      await new Promise((resolve) => Object.assign(request, { onsuccess: resolve }));
      const all = request.result.transaction('values').objectStore('values').getAll();
      await new Promise((resolve) => Object.assign(all, { onsuccess: resolve }));
      return JSON.stringify([all.result, { ...localStorage }]);
    });
    assert.doesNotMatch(values, /For one pair of eyes/);
  });

  inbox.test('a new version is there at the next load, at once and only once, and offline from then on', async (t) => {
    const site = await serveVersions();
    t.after(() => site.stop());
    const page = await inbox.newPage(t, {
      otherHosts: [new URL(site.origin).host],
      expectedErrors: /status of 404|ERR_INTERNET_DISCONNECTED/,
    });
    const version = (): Promise<string | null> => page.locator('meta[name=version]').getAttribute('content');
    await page.goto(site.origin);
    await controlled(page);
    let loads = 0;
    page.on('load', () => {
      loads += 1;
    });
    for (const next of ['2', '3']) {
      await site.release(next);
      await page.goto(site.origin);
      assert.equal(await version(), next);
      const keptVersions = (): Promise<string[]> => page.evaluate(() => caches.keys());
      await eventually('the old versions are gone', 20_000, keptVersions, (names) => {
        return names.some((name) => name.endsWith(`-${next}`)) && names.length <= 2;
      });
    }
    assert.equal(loads, 2);
    await page.context().setOffline(true);
    await page.goto(`${site.origin}/inbox/1`);
    assert.equal(await version(), '3');
  });
});
