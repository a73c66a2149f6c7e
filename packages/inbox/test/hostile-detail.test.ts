// Notifications of the maximum size, designed to be slow, in a real page.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import type { JsonObject } from '@tocsin/contract';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { openInbox } from './support/browser.ts';
import { expectNoSidewaysScroll } from './support/expectations.ts';
import { expectInReach } from './support/geometry.ts';
import { addHistory } from './support/history.ts';
import { hostileData } from './support/hostile-values.ts';

/** One of each kind; parsing all of them is tested without a browser. */
const shortRun = [
  'one long word',
  'white space with a word at its end',
  'all closing brackets behind an address',
  'addresses without white space',
  'a host outside of ASCII',
  'ligatures that decompose',
  'joined emoji',
  'many fields',
  'many items',
  'deep and wide',
  'long names',
];

suite('A notification of 240 KB', () => {
  const inbox = openInbox();

  inbox.test('opens immediately with any content, folded, and shows more on request', async (t) => {
    const names = isLongRun ? Object.keys(hostileData) : shortRun;
    const ids = await addHistory(
      inbox,
      names.map((title) => ({ title, data: hostileData[title] as JsonObject })),
    );
    const page = await inbox.newPage(t, { signedIn: true });
    // A generous limit: it takes about 100 ms, and took minutes before it was fixed.
    page.setDefaultTimeout(15_000);
    await page.goto('/');
    await page.locator('.inbox-row').first().waitFor();
    let slowest = 0;
    for (const [index, name] of names.entries()) {
      const started = Date.now();
      // Navigate like a link of the app, because the list loads such large rows in many pages.
      await page.evaluate((id) => {
        history.pushState(null, '', `/inbox/${id}`);
        dispatchEvent(new PopStateEvent('popstate'));
      }, ids[index]);
      await page.locator('.inbox-detail h2', { hasText: name }).waitFor();
      await page.locator('.inbox-data tbody tr').first().waitFor();
      await expectNoSidewaysScroll(page);
      slowest = Math.max(slowest, Date.now() - started);
      const cell = page.locator('.inbox-data td.text').first();
      const before = (await cell.count()) === 0 ? 0 : ((await cell.textContent())?.length ?? 0);
      assert.ok(before < 5000, `${name} shows ${before} characters at once`);
      const more = page.getByRole('button', { name: /^Show more/ }).first();
      if ((await more.count()) === 0) continue;
      await expectInReach(more, `the button of ${name}`);
      await more.click();
      await page.waitForFunction(
        (length) => (document.querySelector('.inbox-data td.text')?.textContent?.length ?? 0) > length,
        before,
      );
      assert.ok((await page.locator('.inbox-detail a').count()) < 1000);
    }
    t.diagnostic(`slowest of ${names.length}: ${slowest} ms`);
  });
});
