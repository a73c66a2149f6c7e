// The detail page of a notification: its text, its data and its delivery status.
import assert from 'node:assert/strict';
import { after, suite, type TestContext } from 'node:test';
import { TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { withStore } from '@tocsin/test-support/stored-notifications.ts';
import type { Locator, Page } from 'playwright-core';
import { openInbox, type PageOptions, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';

suite('The detail page of a notification', () => {
  const smtp = new TestSmtpServer({});
  after(() => smtp.kill());
  const site = openInbox(async () => {
    await smtp.start();
    return { TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, TOCSIN_EMAIL_FROM: 'tocsin@example.com' };
  });

  async function open(t: TestContext, title: string, options: PageOptions = {}): Promise<Page> {
    const page = await site.newPage(t, { signedIn: true, ...options });
    await page.goto('/');
    await page.getByText(title, { exact: true }).click();
    await page.getByRole('heading', { name: title }).waitFor();
    return page;
  }

  const article = (page: Page): Locator => page.getByRole('article');
  const rows = (page: Page): Promise<string[]> =>
    page
      .locator('.inbox-data tbody tr')
      .evaluateAll((all) => all.map((each) => [...each.children].map((cell) => cell.textContent).join(' = ')));

  site.test('shows only the data table if the body is empty', async (t) => {
    await site.post({
      title: 'Table only',
      severity: 'warning',
      source: 'sensor',
      data: { temperature: 21.5, unit: 'C' },
    });
    const page = await open(t, 'Table only');
    assert.deepEqual(await rows(page), ['temperature = 21.5', 'unit = C']);
    assert.equal(await page.locator('.inbox-body').count(), 0);
    // Title, badges, source and time, then the table: there is no placeholder for the body.
    const parts = await article(page).evaluate((element) => [...element.children].map((child) => child.className));
    assert.deepEqual(parts.slice(0, 2), ['inbox-detail-head', 'inbox-section']);
    assert.match(await article(page).locator('header').innerText(), /^Table only\s+Warning\s+sensor\s+.*\d{4}/s);
  });

  site.test('shows a body without data verbatim, with its addresses as links', async (t) => {
    await site.post({
      title: 'Body only',
      body: 'First  line\n  <b>second</b>\nhttps://a.example/x. javascript:alert(1)',
    });
    const page = await open(t, 'Body only');
    assert.equal(
      await page.locator('.inbox-body').innerText(),
      'First  line\n  <b>second</b>\nhttps://a.example/x. javascript:alert(1)',
    );
    const links = page.locator('.inbox-body a');
    assert.equal(await links.count(), 1);
    assert.deepEqual(
      await links.evaluate((link: HTMLAnchorElement) => [link.href, link.target, link.rel, link.textContent]),
      ['https://a.example/x', '_blank', 'noopener noreferrer nofollow', 'https://a.example/x'],
    );
    assert.equal(await page.locator('.inbox-data').count(), 0);
  });

  const nested = {
    host: { name: 'db-1', disks: [{ mount: '/', free: 0 }, 'none'], tags: [] },
    ok: true,
    owner: null,
    deep: { a: { b: { c: { d: 'hidden' } } } },
    link: 'see https://b.example/',
  };

  site.test('shows nested data as rows, expands and collapses it, and copies it as JSON', async (t) => {
    await site.post({ title: 'Nested', body: 'And a text', data: nested });
    const page = await open(t, 'Nested', { permissions: ['clipboard-read', 'clipboard-write'] });
    const all = await rows(page);
    assert.deepEqual(all.slice(0, 8), [
      'host = 3 fields',
      'name = db-1',
      'disks = 2 items',
      '1 = 2 fields',
      'mount = /',
      'free = 0',
      '2 = none',
      'tags = no items',
    ]);
    assert.equal(all.includes('d = hidden'), false);
    await page.getByRole('button', { name: 'c', exact: true }).click();
    assert.equal((await rows(page)).includes('d = hidden'), true);
    await page.getByRole('button', { name: 'host', exact: true }).click();
    assert.deepEqual((await rows(page)).slice(0, 2), ['host = 3 fields', 'ok = true']);
    await page.getByRole('button', { name: 'Copy as JSON' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), nested);
    await expectAccessible(page);
  });

  site.test('shows a message that replaces the body only once', async (t) => {
    await site.post({ title: 'Grafana', message: ' Disk is full ', host: 'db-1' });
    const page = await open(t, 'Grafana', { permissions: ['clipboard-read', 'clipboard-write'] });
    assert.equal(await page.locator('.inbox-body').innerText(), 'Disk is full');
    assert.deepEqual(await rows(page), ['host = db-1']);
    await page.getByRole('button', { name: 'Copy as JSON' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    assert.deepEqual(copied, { message: ' Disk is full ', host: 'db-1' });
    // It stays in the data if there is another body.
    await site.post({ title: 'Both', body: 'Text', message: 'Another' });
    await page.goto('/');
    await page.getByText('Both', { exact: true }).click();
    await page.getByRole('heading', { name: 'Both' }).waitFor();
    assert.deepEqual(await rows(page), ['message = Another']);
  });

  site.test('fits on a phone with deeply nested data and long words', async (t) => {
    const deep = Array.from({ length: 25 }).reduce<object>((inner) => ({ level: inner }), { end: 'x'.repeat(300) });
    await site.post({
      title: 'L'.repeat(140),
      body: 'b'.repeat(500),
      source: 's'.repeat(200),
      data: { deep, ['k'.repeat(200)]: 1 },
    });
    const page = await open(t, 'L'.repeat(140), { viewport: phone, colorScheme: 'dark' });
    for (let closed = page.locator('[aria-expanded=false].inbox-data-toggle'); (await closed.count()) > 0; ) {
      await closed.first().click();
    }
    assert.ok((await rows(page)).some((each) => each.startsWith('end = xxx')));
    await expectNoSidewaysScroll(page);
    const [wide, width] = await article(page).evaluate((element) => [element.scrollWidth, element.clientWidth]);
    assert.equal(wide, width);
    await expectAccessible(page);
  });

  site.test('links to its neighbours and has its own address', async (t) => {
    const page = await open(t, 'Body only');
    await page.getByRole('button', { name: 'Newer' }).click();
    await page.getByRole('heading', { name: 'Nested' }).waitFor();
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByRole('heading', { name: 'Body only' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Body only' }).waitFor();
  });

  site.test('reports a notification that does not exist', async (t) => {
    const page = await site.newPage(t, { signedIn: true, expectedErrors: /status of 404/ });
    await page.goto('/inbox/01900000-0000-7000-8000-000000000000');
    await page.getByRole('heading', { name: 'Notification not found' }).waitFor();
  });

  site.test('shows the delivery status of each target and retries on request', async (t) => {
    const ownerId = site.gateway.line.firstRun?.owner ?? '';
    await site.installation.json('owner', 'set', ownerId, '--email', 'ann@example.com', '--email-alerts', 'on');
    smtp.faults.rcpt = 451;
    await site.post({ title: 'Undelivered', body: 'x', sendEmail: true });
    const page = await open(t, 'Undelivered');
    const delivery = page.locator('.inbox-deliveries > li').filter({ hasText: 'Email · ann@example.com' });
    await delivery.filter({ hasText: /waiting, next attempt (at|shortly)/ }).waitFor();
    // Mark it dead directly instead of waiting for a day.
    await withStore(site.installation.dataDir, async (store) => {
      const [waiting] = await store.deliveries.list({ ownerId, limit: 1 });
      assert.ok(waiting);
      const endedAt = Date.now();
      await store.deliveries.update([{ ...waiting, state: 'dead', attempts: 9, nextAt: null, endedAt }]);
    });
    await page.reload();
    await delivery.filter({ hasText: /failed permanently after 9 retries: ./ }).waitFor();
    await expectAccessible(page);
    delete smtp.faults.rcpt;
    await delivery.getByRole('button', { name: 'Retry: Email · ann@example.com' }).click();
    await delivery.filter({ hasText: /sent after \d+ retr/ }).waitFor();
    assert.equal(smtp.emails.length, 1);
    assert.equal(await delivery.getByRole('button').count(), 0);
  });
});
