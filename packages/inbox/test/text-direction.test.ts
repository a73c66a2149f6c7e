// Bidi controls display text in another order than its logical one: `invoice\u202efdp.exe` reads `invoiceexe.pdf`.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { DeliveryEntry } from '@tocsin/contract/console';
import { describeDelivery } from '../src/inbox/describe-delivery.ts';
import { stripBidiControls } from '../src/inbox/text-direction.ts';
import { toNotification } from '../src/service-worker/push-message.ts';
import { openInbox } from './support/browser.ts';

const bidiControls = /[\u202a-\u202e\u2066-\u2069]/u;
const hostile = 'invoice\u202efdp.exe\u202c \u2067of\u2069 \u202dtoday';
const harmless = 'invoice\ufffdfdp.exe of \ufffdtoday';

suite('Bidi controls in untrusted text', () => {
  const site = openInbox();

  site.test('do not reorder text in the list, in a search, and on the detail page', async (t) => {
    const data = { [hostile]: hostile, nested: { [hostile]: [hostile] } };
    await site.post({ title: hostile, body: `Hello\n${hostile}`, source: hostile, data, sendMqtt: false });
    await site.post({ title: 'שלום עולם', body: hostile, source: 'العربية', sendMqtt: false });
    const page = await site.newPage(t, { signedIn: true });
    for (const path of ['/', '/?q=invoice']) {
      await page.goto(path);
      const row = page.locator('.inbox-row').filter({ hasText: 'Hello' });
      await row.waitFor();
      assert.equal(await row.locator('.inbox-row-title').textContent(), harmless);
      assert.equal(await row.locator('.inbox-row-source').textContent(), harmless);
      const other = page.locator('.inbox-row').filter({ hasText: 'שלום עולם' });
      assert.equal(await other.locator('.inbox-row-preview').textContent(), harmless);
      assert.doesNotMatch((await page.locator('body').textContent()) ?? '', bidiControls, path);
    }
    await page.goto('/');
    await page.locator('.inbox-row a').filter({ hasText: 'Hello' }).click();
    const detail = page.locator('.inbox-detail');
    await detail.locator('.inbox-data').waitFor();
    assert.equal(await detail.locator('h2').textContent(), harmless);
    assert.equal(await detail.locator('.inbox-body').textContent(), `Hello\n${harmless}`);
    assert.deepEqual(await detail.locator('.inbox-data td.text').allTextContents(), [harmless, harmless]);
    assert.equal(await detail.locator('.inbox-data th').filter({ hasText: harmless }).count(), 2);
    assert.doesNotMatch((await page.locator('body').textContent()) ?? '', bidiControls, 'detail');
    // Texts of any direction are isolated from the text around them.
    const texts = '.inbox-row-title, .inbox-row-preview, .inbox-row-source, .inbox-detail h2, .inbox-detail .soft[dir]';
    const isolation = await page
      .locator(texts)
      .evaluateAll((elements) => elements.map((element) => getComputedStyle(element).unicodeBidi));
    assert.ok(isolation.length >= 8);
    assert.deepEqual(
      isolation.filter((value) => !['isolate', 'plaintext'].includes(value)),
      [],
    );
  });

  test('do not reorder text in a push message, nor in the error of a server', () => {
    const message = { id: '1', title: hostile, body: hostile, createdAt: '' };
    const settings = { isInfoSilent: false };
    const shown = toNotification(JSON.stringify(message), settings);
    assert.deepEqual([shown.title, shown.options.body], [harmless, harmless]);
    const summary = toNotification(JSON.stringify({ ...message, body: '', data: { [hostile]: hostile } }), settings);
    assert.equal(summary.options.body, `${harmless}: ${harmless}`);
    const delivery = { channel: 'email', name: null, state: 'rejected', error: hostile } as unknown as DeliveryEntry;
    assert.ok(describeDelivery(delivery, 0, String).outcome.endsWith(harmless));
  });

  test('are removed without changing right-to-left text', () => {
    for (const content of ['שלום, world!', 'العربية\u200f (v2.1)', 'a\u200eb'])
      assert.equal(stripBidiControls(content), content);
  });
});
