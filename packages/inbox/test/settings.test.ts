import assert from 'node:assert/strict';
import { suite } from 'node:test';
import type { SessionInfo } from '@tocsin/contract/console';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';
import { expectInReach, expectInsideWindow } from './support/geometry.ts';
import { waitForController } from './support/push-messages.ts';

suite('The settings', () => {
  const inbox = openInbox();

  async function settings(page: Page): Promise<void> {
    await page.goto('/settings');
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await page.getByLabel('Name', { exact: true }).waitFor();
  }

  inbox.test('save the name, which the page then shows', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await settings(page);
    await page.getByLabel('Name', { exact: true }).fill('Night watch');
    await page.getByLabel('Name', { exact: true }).press('Enter');
    await page.locator('.sidebar').getByText('Night watch').waitFor();
    await page.reload();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Night watch');
  });

  inbox.test('save quiet hours per channel, by default in the time zone of the browser', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /status of 400/ });
    await settings(page);
    const group = page.getByRole('group', { name: 'Email' });
    await group.getByRole('switch').check();
    await group.getByLabel('From').fill('21:30');
    await group.getByLabel('Until').fill('21:30');
    await page.getByRole('button', { name: 'Save quiet hours' }).click();
    await group.getByText('must not end when it begins').waitFor();
    await group.getByLabel('Until').fill('06:15');
    await page.getByRole('button', { name: 'Save quiet hours' }).click();
    await page.getByText('Saved').waitFor();

    await page.reload();
    await group.getByLabel('From').waitFor();
    assert.equal(await group.getByLabel('From').inputValue(), '21:30');
    assert.equal(await group.getByLabel('Until').inputValue(), '06:15');
    assert.equal(await page.getByRole('group', { name: 'Push' }).getByRole('switch').isChecked(), false);
    const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
    assert.equal(await page.getByLabel('Time zone').inputValue(), zone);
  });

  inbox.test('offer quiet hours for every channel if a node of the previous version omits the channels', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.route('**/api/session', async (route) => {
      const response = await route.fetch();
      const { service, ...session } = (await response.json()) as SessionInfo;
      const { channels: _, ...released } = service;
      await route.fulfill({ response, json: { ...session, service: released } });
    });
    await settings(page);
    for (const channel of ['Push', 'Email', 'MQTT'])
      await page.getByRole('group', { name: channel }).getByRole('switch').waitFor();
    assert.equal(await page.locator('.settings-channel').count(), 3);
  });

  inbox.test(
    'keep unsaved edits of one form while another is saved, and clear an error when its field changes',
    async (t) => {
      const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /status of 400/ });
      await settings(page);
      const group = page.getByRole('group', { name: 'MQTT' });
      await group.getByRole('switch').check();
      await group.getByLabel('From').fill('21:15');
      await page.getByLabel('Email address').fill('unsaved@example.com');
      await page.getByLabel('Keep notifications').selectOption('30 days');
      await page.getByLabel('Name', { exact: true }).fill('Day watch');
      await page.getByLabel('Name', { exact: true }).press('Enter');
      const saved = page.locator('.toast', { hasText: 'Saved' });
      await saved.waitFor();
      await page.locator('.sidebar').getByText('Day watch').waitFor();
      assert.equal(await group.getByLabel('From').inputValue(), '21:15');
      assert.equal(await page.getByLabel('Email address').inputValue(), 'unsaved@example.com');
      assert.equal(await page.getByLabel('Keep notifications').inputValue(), '30');

      // The toast of the earlier save does not stay next to a new error.
      await group.getByLabel('Until').fill('21:15');
      await page.getByRole('button', { name: 'Save quiet hours' }).click();
      const problem = group.getByRole('alert');
      await problem.waitFor();
      assert.equal(await saved.count(), 0);
      await group.getByLabel('Until').fill('05:00');
      await problem.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Save quiet hours' }).click();
      await saved.waitFor();
      assert.equal(await page.getByLabel('Email address').inputValue(), 'unsaved@example.com');
    },
  );

  inbox.test('ask for confirmation before a page with unsaved edits is left', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/keys');
    const navigation = page.getByRole('navigation', { name: 'Main' });
    await navigation.getByRole('link', { name: 'Settings' }).click();
    const name = page.getByLabel('Name', { exact: true });
    await name.waitFor();
    const dialog = page.getByRole('dialog');
    await name.fill('Unsaved');
    // Links within the page need no confirmation.
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'History' }).click();
    for (const leave of [
      () => navigation.getByRole('link', { name: 'Devices' }).click(),
      () => page.evaluate(() => history.go(-2)),
    ]) {
      await leave();
      await dialog.getByText('unsaved changes').waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      assert.equal(new URL(page.url()).pathname, '/settings');
      assert.equal(await name.inputValue(), 'Unsaved');
    }
    // The browser shows its own prompt before closing or reloading the tab.
    const prompted = page.waitForEvent('dialog');
    const reloaded = page.reload({ timeout: 3000 }).catch(() => null);
    const prompt = await prompted;
    assert.equal(prompt.type(), 'beforeunload');
    await prompt.dismiss();
    await reloaded;
    assert.equal(await name.inputValue(), 'Unsaved');

    await navigation.getByRole('link', { name: 'Devices' }).click();
    await dialog.getByRole('button', { name: 'Leave without saving' }).click();
    await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
    // The edits are discarded, so no confirmation is needed.
    await navigation.getByRole('link', { name: 'Settings' }).click();
    await name.waitFor();
    assert.notEqual(await name.inputValue(), 'Unsaved');
    await navigation.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  });

  inbox.test('ask for confirmation before retention is shortened, and show the limit of the service', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await settings(page);
    await page.getByText('keeps notifications for at most 90 days').waitFor();
    await page.getByLabel('Keep notifications').selectOption('7 days');
    await page.locator('#history').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Shorten' }).click();
    await page.getByText('Saved').waitFor();
    await page.reload();
    await page.getByLabel('Keep notifications').waitFor();
    assert.equal(await page.getByLabel('Keep notifications').inputValue(), '7');
  });

  inbox.test('list the signed-in browsers, and sign out others immediately', async (t) => {
    const owner = inbox.gateway.line.firstRun?.owner ?? '';
    const page = await inbox.newPage(t, { signedIn: true });
    const other = await inbox.newPage(t, { signedIn: await inbox.signIn(owner), expectedErrors: /status of 401/ });
    await inbox.post({ title: 'For the other browser', body: 'x' });
    await other.goto('/');
    await other.getByText('For the other browser').first().waitFor();
    await settings(page);
    const rows = page.locator('#sign-in .settings-list li');
    await rows.nth(1).waitFor();
    assert.equal(await rows.filter({ hasText: 'This browser' }).count(), 1);
    assert.match(await rows.filter({ hasText: 'This browser' }).innerText(), /Last seen: now/);

    await page.getByRole('button', { name: 'Sign out all others' }).click();
    await page.getByText(/was signed out|were signed out/).waitFor();
    await rows.nth(1).waitFor({ state: 'detached' });
    assert.equal(await rows.count(), 1);

    // The other page learns it from its event stream, without a user action.
    await other.getByRole('heading', { name: 'Sign in to Tocsin' }).waitFor();
    const storedKeys = (): Promise<unknown[]> =>
      other.evaluate(async () => {
        const request = indexedDB.open('tocsin');
        await new Promise((resolve) => request.addEventListener('success', resolve));
        const keys = request.result.transaction('values').objectStore('values').getAllKeys();
        await new Promise((resolve) => keys.addEventListener('success', resolve));
        request.result.close();
        return keys.result;
      });
    await eventually('the stored data of the owner is deleted there', 5000, storedKeys, (keys) => keys.length === 0);
  });

  inbox.test('show a QR code for a phone, and warn that phones cannot reach a loopback address', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await settings(page);
    await page.getByText(/Your phone cannot reach http:\/\/localhost/).waitFor();
    await page.getByRole('button', { name: 'Show a QR code' }).click();
    await page.getByRole('img', { name: 'QR code' }).waitFor();
    await page.getByText(/Expires in [45]:\d\d/).waitFor();
  });

  inbox.test('store the theme in this browser', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, colorScheme: 'light' });
    await settings(page);
    const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.getByLabel('Dark').check();
    const dark = await paper();
    assert.notEqual(dark, light);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    assert.equal(await paper(), dark);
  });

  inbox.test('are accessible and fit a phone, in both themes', async (t) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await inbox.newPage(t, { signedIn: true, viewport: phone, colorScheme });
      await settings(page);
      await page.getByRole('group', { name: 'MQTT' }).getByRole('switch').check();
      await page.getByRole('button', { name: 'Show a QR code' }).click();
      await page.getByRole('img', { name: 'QR code' }).waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    }
  });

  inbox.test('fit narrow windows with all sections open', async (t) => {
    // 320 px is 1280 at 400 %; 256 px is a small laptop at 400 %.
    for (const viewport of [
      { width: 320, height: 256 },
      { width: 256, height: 256 },
    ]) {
      const page = await inbox.newPage(t, { signedIn: true, viewport });
      await settings(page);
      for (const channel of ['Push', 'Email', 'MQTT']) {
        const group = page.getByRole('group', { name: channel });
        await group.getByRole('switch').check();
        await group.getByLabel('From').waitFor();
      }
      await page.getByRole('button', { name: 'Show a QR code' }).click();
      await page.getByRole('img', { name: 'QR code' }).waitFor();
      await expectNoSidewaysScroll(page);
      await expectInsideWindow(page);
    }
  });

  inbox.test('keep the list of notifications in reach at 400 % zoom', async (t) => {
    await inbox.post({ title: 'In reach' });
    const page = await inbox.newPage(t, { signedIn: true, viewport: { width: 320, height: 256 } });
    await page.goto('/');
    const row = page.locator('.inbox-row').first();
    await row.waitFor();
    await expectInReach(row, 'the first notification');
    await row.locator('a').click();
    await page.locator('.inbox-detail h2').waitFor();
    await expectInReach(page.locator('.inbox-detail h2'), 'its title');
  });

  inbox.test('report that they could not be loaded instead of loading forever', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /ERR_INTERNET_DISCONNECTED/ });
    await page.goto('/settings');
    await waitForController(page);
    await page.getByLabel('Name', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.goto('/settings');
    await page.getByRole('button', { name: 'Try again' }).first().waitFor();
    await page.waitForFunction(() => document.querySelector('main .spinner') === null);
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByLabel('Name', { exact: true }).waitFor();
  });

  inbox.test('show dates in the language of the page, in the format of the reader’s region', async (t) => {
    await inbox.post({ title: 'Dated' });
    const page = await inbox.newPage(t, { signedIn: true, locale: 'de-DE' });
    await page.goto('/');
    await page.getByText('Dated', { exact: true }).first().click();
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    const time = await page.locator('.inbox-detail time').innerText();
    assert.match(time, /^(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day.* \d\d:\d\d:\d\d$/);
    const tooltip = await page.locator('.inbox-row time').first().getAttribute('title');
    assert.match(tooltip ?? '', /^\d\d? [A-Z][a-z]+ \d{4}, \d\d:\d\d$/);
    const expiresAt = Date.UTC(2035, 4, 10, 12);
    const key = { type: 'public_client', label: 'Dated', allowedDomains: [], requireSignature: false, rateLimit: null };
    await (await inbox.owner()).post('/api/keys', { ...key, expiresAt });
    await page.goto('/keys');
    await page.getByText(/Expires 10 May 2035, \d\d:\d\d/).waitFor();
  });

  inbox.test('link to the pages that the bar on phones omits', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, viewport: phone });
    await settings(page);
    await page.getByRole('link', { name: 'API documentation' }).click();
    await page.waitForURL('/docs');
    const heading = page.getByRole('heading', { level: 1 });
    await heading.waitFor();
    assert.equal(await heading.evaluate((element) => document.activeElement === element), true);
    assert.match(await page.title(), /^(\(\d+\) )?API · Tocsin$/);
  });

  inbox.test('sign out, after which the sign-in page is shown', async (t) => {
    const owner = inbox.gateway.line.firstRun?.owner ?? '';
    const page = await inbox.newPage(t, { signedIn: await inbox.signIn(owner), expectedErrors: /status of 401/ });
    await settings(page);
    await page.getByLabel('Name', { exact: true }).press('Enter');
    await page.locator('.toast', { hasText: 'Saved' }).waitFor();
    await page.locator('.settings-sections').getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in to Tocsin' }).waitFor();
    assert.equal(await page.locator('.toast').count(), 0, 'no toast of the owner is shown on the sign-in page');
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in to Tocsin' }).waitFor();
  });
});
