// Forced colours (high contrast): borders replace background colours.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import type { Locator } from 'playwright-core';
import { openInbox } from './support/browser.ts';

/** Whether the element differs from the page: by a background, a border or an outline. */
function standsOut(locator: Locator, pseudo?: string): Promise<boolean> {
  return locator.evaluate((element, part) => {
    const style = getComputedStyle(element, part);
    const paper = getComputedStyle(document.body).backgroundColor;
    const isNone = (colour: string): boolean => colour === paper || /^rgba\(.*, 0\)$/.test(colour);
    const lines = ['Top', 'Left'].map((side) => ({
      width: style.getPropertyValue(`border-${side.toLowerCase()}-width`),
      style: style.getPropertyValue(`border-${side.toLowerCase()}-style`),
      colour: style.getPropertyValue(`border-${side.toLowerCase()}-color`),
    }));
    lines.push({ width: style.outlineWidth, style: style.outlineStyle, colour: style.outlineColor });
    const hasLine = lines.some(
      ({ width, style: kind, colour }) => Number.parseFloat(width) > 0 && kind !== 'none' && !isNone(colour),
    );
    return hasLine || !isNone(style.backgroundColor);
  }, pseudo);
}

suite('High contrast', () => {
  const inbox = openInbox();

  for (const colorScheme of ['light', 'dark'] as const) {
    inbox.test(`marks unread, severe and open rows and the current page, ${colorScheme}`, async (t) => {
      await inbox.post({ title: 'Calm' });
      await inbox.post({ title: 'Unread and critical', severity: 'critical' });
      const page = await inbox.newPage(t, { signedIn: true, forcedColors: 'active', colorScheme });
      await page.goto('/');
      const row = (title: string): Locator => page.locator('.inbox-row', { hasText: title }).first();
      await row('Unread and critical').waitFor();
      assert.ok(await standsOut(row('Unread and critical').locator('.inbox-dot')), 'the unread mark');
      assert.ok(await standsOut(row('Unread and critical').locator('a'), '::before'), 'the severity');
      assert.ok(!(await standsOut(row('Calm').locator('a'), '::before')), 'no severity');
      await row('Calm').locator('a').click();
      await row('Calm').locator('a[aria-current]').waitFor();
      assert.ok(await standsOut(row('Calm').locator('a')), 'the open row');
      assert.ok(!(await standsOut(row('Unread and critical').locator('a'))), 'another row');
      const nav = page.getByRole('navigation', { name: 'Main' });
      assert.ok(await standsOut(nav.locator('[aria-current=page]')), 'the current page');
      assert.ok(!(await standsOut(nav.getByRole('link', { name: 'Keys' }))), 'another page');

      await page.goto('/settings');
      const push = page.getByRole('group', { name: 'Push' }).getByRole('switch');
      await push.check();
      assert.ok(await standsOut(push), 'a switch that is on');
      assert.ok(await standsOut(page.locator('.settings-theme:has(:checked)')), 'the chosen theme');
    });
  }
});
