// The list of notifications, in a real browser against the running service.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, type TestContext } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Locator, Page } from 'playwright-core';
import { openInbox, type PageOptions, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';
import { addHistory } from './support/history.ts';

suite('The inbox', () => {
  const site = openInbox();

  /** Opens the page and waits for its stream of live events. */
  async function open(t: TestContext, path = '/', options: PageOptions = {}): Promise<Page> {
    const page = await site.newPage(t, { signedIn: true, ...options });
    const live = page.waitForResponse(/\/api\/events/);
    await page.goto(path);
    await live;
    return page;
  }

  const row = (page: Page, title: string): Locator =>
    page.locator('.inbox-row').filter({ has: page.getByText(title, { exact: true }) });
  const titles = (page: Page): Promise<string[]> => page.locator('.inbox-row-title').allTextContents();
  const badge = (page: Page): Locator => page.locator('.nav .count');
  const count = (page: Page, expected: string): Promise<string[]> =>
    eventually(
      `${expected} unread`,
      2000,
      () => badge(page).allTextContents(),
      (all) => all.join() === expected,
    );

  site.test('explains the first steps while it is empty', async (t) => {
    const page = await open(t);
    await page.getByRole('heading', { name: 'No notifications yet' }).waitFor();
    assert.match(
      (await page.getByRole('region', { name: 'the command' }).textContent()) ?? '',
      /^curl http.*Bearer svc_/s,
    );
    assert.equal(await page.getByRole('link', { name: 'Create a key' }).getAttribute('href'), '/keys');
    await expectAccessible(page);
  });

  site.test('shows a notification soon after its POST, without a reload', async (t) => {
    const [page, elsewhere] = [await open(t), await open(t, '/devices')];
    await page.getByRole('heading', { name: 'No notifications yet' }).waitFor();
    const postedAt = performance.now();
    await site.post({
      title: 'Pump stopped',
      body: 'No flow.\nSecond line',
      source: 'plant',
      severity: 'critical',
      category: 'task',
    });
    await row(page, 'Pump stopped').waitFor({ timeout: 5000 });
    t.diagnostic(`shown ${Math.round(performance.now() - postedAt)} ms after the POST started`);
    const words = (await row(page, 'Pump stopped').innerText()).split(/\s*\n\s*/);
    assert.deepEqual(
      words.filter((word) => !/^\d\d?:\d\d/.test(word)),
      ['Critical', 'Unread', 'Pump stopped', 'No flow.', 'plant', 'Task'],
    );
    assert.deepEqual(await page.locator('.inbox-day h2').allTextContents(), ['Today']);
    await count(page, '1 unread');
    await count(elsewhere, '1 unread');
    assert.match(await elsewhere.title(), /1/);
  });

  site.test('shows the number of fields if the body is empty', async (t) => {
    await site.post({ title: 'Only data', data: { a: 1, b: { c: 2 } } });
    const page = await open(t);
    assert.match(await row(page, 'Only data').innerText(), /2 fields/);
  });

  site.test('marks opened notifications as read, and as unread again', async (t) => {
    const page = await open(t);
    await count(page, '2 unread');
    await row(page, 'Pump stopped').click();
    await page.getByRole('heading', { name: 'Pump stopped' }).waitFor();
    await count(page, '1 unread');
    await page.getByRole('button', { name: 'Mark as unread' }).click();
    await count(page, '2 unread');
    await page.getByRole('button', { name: 'Mark as read' }).waitFor();
    await page.reload();
    await count(page, '1 unread');
  });

  site.test('deletes a notification and undoes it, in all tabs', async (t) => {
    const [page, other] = [await open(t), await open(t)];
    await row(other, 'Only data').waitFor();
    await row(page, 'Only data').click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await row(page, 'Only data').waitFor({ state: 'detached' });
    await row(other, 'Only data').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await row(page, 'Only data').waitFor();
    await row(other, 'Only data').waitFor();
  });

  site.test('marks everything as read, in all tabs', async (t) => {
    await site.post({ title: 'One more' });
    const [page, other] = [await open(t), await open(t)];
    await badge(other).waitFor();
    await page.getByRole('button', { name: 'Mark all read' }).click();
    await badge(page).waitFor({ state: 'detached' });
    await badge(other).waitFor({ state: 'detached' });
    assert.equal(await other.locator('.inbox-row.unread').count(), 0);
    await page.reload();
    await row(page, 'One more').waitFor();
    assert.equal(await page.locator('.inbox-row.unread').count(), 0);
  });

  site.test('can be used with the keyboard alone', async (t) => {
    for (const title of ['Key one', 'Key two', 'Key three']) await site.post({ title, body: 'text' });
    const page = await open(t);
    await row(page, 'Key one').waitFor();
    const focused = (): Promise<string | undefined> =>
      page.evaluate(() => document.activeElement?.querySelector('.inbox-row-title')?.textContent ?? undefined);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    assert.equal(await focused(), 'Key two');
    await page.keyboard.press('ArrowUp');
    assert.equal(await focused(), 'Key three');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('u');
    await row(page, 'Key two').and(page.locator('.unread')).waitFor({ state: 'detached' });
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Key two' }).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'Key one' }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL('/');
    assert.equal(await focused(), 'Key one');
    await page.keyboard.press('#');
    await row(page, 'Key one').waitFor({ state: 'detached' });
    await page.getByText('Deleted: Key one', { exact: true }).waitFor();
    await page.keyboard.press('z');
    await row(page, 'Key one').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const isSearching = () => page.evaluate(() => document.activeElement?.getAttribute('type') === 'search');
    // The shortcuts are active again shortly after the dialog was closed.
    const search = async () => {
      if (!(await isSearching())) await page.keyboard.press('/');
      return isSearching();
    };
    await eventually('the search box has the focus', 10_000, search, Boolean);
    await page.getByRole('searchbox').fill('');
    await page.keyboard.type('jzu#');
    assert.equal(await page.getByRole('searchbox').inputValue(), 'jzu#', 'shortcuts are off in the search box');
  });

  site.test('loads older notifications while scrolling, and reports damaged ones', async (t) => {
    const old = Date.now() - 3 * 24 * 3600 * 1000;
    const ids = await addHistory(
      site,
      Array.from({ length: 120 }, (_, index) => ({ title: `Old ${index}` })),
      old,
    );
    damage(join(site.installation.dataDir, 'tocsin.db'), ids[10] ?? '');
    const page = await open(t);
    await row(page, 'Old 119').waitFor();
    assert.equal(await page.locator('.inbox-row').count(), 50);
    await page.getByRole('button', { name: 'Load more' }).focus();
    await page.keyboard.press('Enter');
    await row(page, 'Old 26').waitFor({ state: 'attached' });
    await row(page, 'Old 26').scrollIntoViewIfNeeded();
    await page.getByText('No older notifications.').waitFor();
    const all = await titles(page);
    assert.equal(new Set(all).size, 6 + 120 - 1, 'each once, without the damaged one');
    assert.equal(all.at(-1), 'Old 0');
    await page.getByText('One notification cannot be decrypted').waitFor();
    const days = await page.locator('.inbox-day h2').allTextContents();
    assert.equal(days.length, 2);
    assert.match(days[1] ?? '', /day$/);
  });

  site.test('does not move the scrolled list when a notification arrives', async (t) => {
    const page = await open(t);
    await row(page, 'Old 90').waitFor();
    const scroller = page.locator('.inbox-scroller');
    const top = (): Promise<number> => scroller.evaluate((element) => element.scrollTop);
    await scroller.hover();
    await page.mouse.wheel(0, 1500);
    const before = await eventually('it scrolls', 2000, top, (pixels) => pixels === 1500);
    await site.post({ title: 'While away' });
    const pill = page.getByRole('button', { name: '1 new' });
    await pill.waitFor({ timeout: 2000 });
    assert.equal(await top(), before);
    assert.equal(await row(page, 'While away').count(), 0);
    await pill.click();
    await row(page, 'While away').waitFor();
    assert.equal((await titles(page))[0], 'While away');
  });

  site.test('fits on a phone and is accessible in the dark theme', async (t) => {
    const page = await open(t, '/', { viewport: phone, colorScheme: 'dark', hasTouch: true });
    await row(page, 'While away').waitFor();
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
    await row(page, 'While away').tap();
    await page.getByRole('heading', { name: 'While away' }).waitFor();
    assert.equal(await row(page, 'While away').isVisible(), false);
    await page.getByRole('button', { name: 'Back to the list' }).tap();
    await row(page, 'While away').waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'While away' }).waitFor();
  });

  site.test('shows the last items offline, and rolls back actions that fail', async (t) => {
    const page = await open(t, '/', { expectedErrors: /ERR_INTERNET_DISCONNECTED/ });
    await row(page, 'While away').waitFor();
    // The service worker must be ready to serve the page offline.
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await page.context().setOffline(true);
    await page.getByText('Showing the last loaded data').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('#');
    await page.getByText('Tocsin cannot be reached.', { exact: true }).waitFor();
    await row(page, 'While away').waitFor();
    await page.reload();
    await row(page, 'While away').waitFor();
    await row(page, 'Key one').click();
    await page.getByRole('heading', { name: 'Key one' }).waitFor();
    await page.context().setOffline(false);
    await page.getByText('Showing the last loaded data').waitFor({ state: 'detached' });
    await site.post({ title: 'Back again' });
    await row(page, 'Back again').waitFor();
  });

  site.test('undoes "Mark all read" exactly, with the button or with z, in every tab', async (t) => {
    for (const title of ['Undo one', 'Undo two', 'Undo three']) await site.post({ title });
    const [page, other] = [await open(t), await open(t)];
    await row(page, 'Undo two').click();
    await page.getByRole('button', { name: 'Mark as unread' }).waitFor();
    const unread = async (on: Page): Promise<string[]> =>
      on.locator('.inbox-row.unread .inbox-row-title').allTextContents();
    const isUnread = (on: Page, title: string): Locator => row(on, title).and(on.locator('.unread'));
    await isUnread(other, 'Undo two').waitFor({ state: 'detached' });
    const before = await unread(page);
    assert.ok(before.includes('Undo one') && !before.includes('Undo two'));
    const toast = page.locator('.toast', { hasText: 'All marked as read' });
    for (const undo of [
      () => toast.getByRole('button', { name: 'Undo' }).click(),
      () => page.locator('body').press('z'),
    ]) {
      await page.getByRole('button', { name: 'Mark all read' }).click();
      await toast.waitFor();
      await badge(page).waitFor({ state: 'detached' });
      await badge(other).waitFor({ state: 'detached' });
      await undo();
      // The toast of the undone action disappears.
      await toast.waitFor({ state: 'detached', timeout: 5000 });
      await page.locator('.toast', { hasText: 'Unread marks restored' }).waitFor();
      await isUnread(other, 'Undo one').waitFor();
      assert.deepEqual(await unread(page), before);
      assert.deepEqual(await unread(other), before);
    }
    await page.reload();
    await row(page, 'Undo one').waitFor();
    assert.deepEqual(await unread(page), before);
    await badge(page).waitFor();
  });

  site.test('dismisses the toast of a deletion that is undone with z', async (t) => {
    await site.post({ title: 'Deleted by mistake' });
    const page = await open(t);
    await row(page, 'Deleted by mistake').click();
    await page.keyboard.press('#');
    const toast = page.locator('.toast', { hasText: 'Deleted: Deleted by mistake' });
    await toast.waitFor();
    await page.keyboard.press('z');
    await toast.waitFor({ state: 'detached', timeout: 5000 });
    await page.locator('.toast', { hasText: 'Restored' }).waitFor();
    await row(page, 'Deleted by mistake').waitFor();
  });
});

function damage(file: string, id: string): void {
  const db = new DatabaseSync(file, { timeout: 5000 });
  db.prepare('UPDATE notifications SET sealed = zeroblob(200) WHERE id = ?').run(id);
  db.close();
}
