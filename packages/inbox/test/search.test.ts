// Search and filters, with a history that takes a while to search.
import assert from 'node:assert/strict';
import { before, suite, type TestContext } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Page } from 'playwright-core';
import { openInbox, type PageOptions, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';
import { addHistory } from './support/history.ts';

const rowsOfHistory = 3000;

suite('Search', () => {
  const site = openInbox();
  before(async () => {
    if (site.obstacle !== null) return;
    const plain = Array.from({ length: rowsOfHistory }, (_, index) => ({
      title: `Heartbeat ${index}`,
      data: { padding: 'x'.repeat(2000) },
    }));
    await addHistory(site, plain, Date.parse('2026-03-03T12:00:00Z'));
    await addHistory(site, [
      { title: 'Backup of Köln failed', severity: 'error', body: 'Disk is full' },
      { title: 'Backup of Oslo finished', severity: 'info' },
      { title: 'Renew the certificate', category: 'task' },
      { title: 'Payment down', severity: 'critical', data: { host: 'pay-backup' } },
    ]);
  });

  async function open(t: TestContext, path = '/', options: PageOptions = {}): Promise<Page> {
    const page = await site.newPage(t, { signedIn: true, ...options });
    await page.goto(path);
    return page;
  }

  const titles = (page: Page): Promise<string[]> => page.locator('.inbox-row-title').allTextContents();
  const found = (page: Page, expected: string[]): Promise<string[]> =>
    eventually(
      'the expected results',
      10_000,
      () => titles(page),
      (all) => all.join() === expected.join(),
    );

  site.test(
    'finds words in titles, bodies and data, highlights them, and keeps the search in the address',
    async (t) => {
      const page = await open(t);
      await page.getByText('Payment down').waitFor();
      await page.getByRole('searchbox').fill('BACKUP');
      await found(page, ['Payment down', 'Backup of Oslo finished', 'Backup of Köln failed']);
      await page.getByRole('searchbox').fill('backup koln');
      await found(page, ['Backup of Köln failed']);
      assert.deepEqual(await page.locator('.inbox-row mark').allTextContents(), ['Backup', 'Köln']);
      await page
        .getByText(/^Searched all 3,004 notifications; 1 match$/)
        .first()
        .waitFor();
      assert.match(page.url(), /\?q=backup\+koln$/);
      await page.reload();
      await found(page, ['Backup of Köln failed']);
      await page.getByText('Backup of Köln failed').first().click();
      await page.getByRole('heading', { name: 'Backup of Köln failed' }).waitFor();
      assert.equal(await page.getByRole('searchbox').inputValue(), 'backup koln');
      await page.goBack();
      await page.goBack();
      await page.getByText('Heartbeat 2999').waitFor();
      assert.equal(await page.getByRole('searchbox').inputValue(), '');
    },
  );

  site.test('filters by severity, category and unread, separately and combined', async (t) => {
    const page = await open(t);
    await page.getByRole('button', { name: 'Filters' }).click();
    const choose = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
    const severity = page.getByRole('group', { name: 'Severity' });
    await severity.getByRole('button', { name: 'Error' }).click();
    await severity.getByRole('button', { name: 'Critical' }).click();
    await found(page, ['Payment down', 'Backup of Köln failed']);
    assert.match(page.url(), /severity=error%2Ccritical/);
    await expectAccessible(page);
    await choose('Unread only');
    // The other match was opened by the test before.
    await found(page, ['Payment down']);
    await page.getByRole('searchbox').fill('pay-backup');
    // Before the delayed search starts: neither change may undo the other.
    await choose('Unread only');
    await page.waitForURL(/\?q=pay-backup&severity=error%2Ccritical$/);
    await found(page, ['Payment down']);
    await choose('Clear filters');
    await page.getByRole('button', { name: 'Clear search' }).click();
    await choose('Task');
    await found(page, ['Renew the certificate']);
    await choose('Clear filters');
    await severity.getByRole('button', { name: 'No severity' }).click();
    await eventually(
      'notifications without a severity',
      10_000,
      () => titles(page),
      (all) => all.length >= 50 && all.slice(0, 2).join() === 'Renew the certificate,Heartbeat 2999',
    );
  });

  site.test('shows new notifications that match the filter', async (t) => {
    const page = await site.newPage(t, { signedIn: true });
    const live = page.waitForResponse(/\/api\/events/);
    await page.goto('/?severity=warning');
    await live;
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
    await site.post({ title: 'Calm', severity: 'info' });
    await site.post({ title: 'Getting warm', severity: 'warning' });
    await found(page, ['Getting warm']);
  });

  site.test('shows results and progress while it runs, continues further back, and can be cancelled', async (t) => {
    const page = await open(t, '/?q=heartbeat%201');
    // It stops after 50 results and continues on request.
    await eventually(
      'the first results',
      10_000,
      () => titles(page),
      (all) => all.length === 50,
    );
    const first = await titles(page);
    await page
      .getByText(/^Searched [\d,]+ notifications back to .*2026; 50 matches$/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Search further back' }).click();
    await eventually(
      'more results',
      10_000,
      () => titles(page),
      (all) => all.length === 100,
    );
    assert.deepEqual((await titles(page)).slice(0, 50), first);

    await slowDown(page);
    await page.getByRole('searchbox').fill('matches nothing');
    const progress = page.locator('.inbox-progress');
    const cancel = progress.getByRole('button', { name: 'Cancel' });
    await cancel.click();
    await progress
      .getByText(/^Cancelled after [\d,]+ notifications; 0 matches$/)
      .first()
      .waitFor();
    assert.equal(await cancel.count(), 0);
  });

  site.test('reports that nothing was found, and clears search and filters', async (t) => {
    const page = await open(t, '/?q=unknown&severity=error', { viewport: phone });
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
    await expectNoSidewaysScroll(page);
    await expectAccessible(page);
    for (const [query, name] of [
      ['?q=unknown&severity=error', 'Clear search and filters'],
      ['?q=unknown', 'Clear search'],
      ['?severity=warning&category=task', 'Clear filters'],
    ] as const) {
      await page.goto(`/${query}`);
      await page.locator('.empty').getByRole('button', { name, exact: true }).click();
      await page.getByText('Payment down').waitFor();
      assert.equal(new URL(page.url()).search, '');
    }
  });
});

/** Delays responses, so that the search can be cancelled while it runs. */
async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 2000,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
}
