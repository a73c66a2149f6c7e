import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';

suite('The frame around the pages', () => {
  const inbox = openInbox();

  inbox.test('leads back from an address where nothing is', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, viewport: phone });
    for (const address of ['/nowhere', '/inbox/7/8', '/owners/7']) {
      await page.goto(address);
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    }
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    await page.getByRole('link', { name: 'Back to the inbox' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  });

  inbox.test(
    'names each page in the title, with the number of unread ones, and puts the focus on its heading',
    async (t) => {
      const page = await inbox.newPage(t, { signedIn: true });
      await inbox.post({ title: 'Nobody has read this', body: 'x' });
      await page.goto('/');
      await page.waitForFunction(() => document.title === '(1) Inbox · Tocsin');
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Devices' }).click();
      await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
      assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Devices');
      assert.equal(await page.title(), '(1) Devices · Tocsin');
      await page.goBack();
      await page.waitForFunction(() => document.activeElement?.textContent === 'Inbox');
    },
  );

  inbox.test('says that a page could not be loaded, and shows the others all the same', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /ERR_FAILED|dynamically imported/ });
    // What a service worker has kept is there without the network.
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

  inbox.test('tells when the service cannot be reached, until it can be again', async (t) => {
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
