import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';

suite('The app shell', () => {
  const inbox = openInbox();

  inbox.test('links back to the inbox from an unknown address', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, viewport: phone });
    for (const address of ['/unknown', '/inbox/7/8', '/owners/7']) {
      await page.goto(address);
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    }
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.getByRole('link', { name: 'Back to the inbox' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  });

  inbox.test('shows the page and the unread count in the title, and moves the focus to the heading', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await inbox.post({ title: 'Unread', body: 'x' });
    await page.goto('/');
    await page.waitForFunction(() => document.title === '(1) Inbox · Tocsin');
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Devices' }).click();
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Devices');
    assert.equal(await page.title(), '(1) Devices · Tocsin');
    await page.goBack();
    await page.waitForFunction(() => document.activeElement?.textContent === 'Inbox');
  });

  inbox.test('reports a page that could not be loaded, and still shows the others', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /ERR_FAILED|dynamically imported/ });
    // Without the service worker, which would serve the page from its cache.
    await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'serviceWorker'));
    await page.route('**/assets/keys-page*.js', (route) => route.abort());
    await page.goto('/');
    const navigation = page.getByRole('navigation', { name: 'Main' });
    await navigation.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('heading', { name: 'This page could not be displayed' }).waitFor();
    await page.getByRole('button', { name: 'Reload' }).waitFor();
    await navigation.getByRole('link', { name: 'Devices' }).click();
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
  });

  inbox.test('shows a banner while the service cannot be reached', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /ERR_INTERNET_DISCONNECTED/ });
    await page.goto('/');
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    const banner = page.getByText('Tocsin cannot be reached');
    assert.equal(await banner.count(), 0);
    await page.context().setOffline(true);
    await banner.waitFor();
    await expectAccessible(page);
    await page.context().setOffline(false);
    await banner.waitFor({ state: 'detached' });
  });
});
