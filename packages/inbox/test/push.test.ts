// Push: from a message to a notification, in the real service worker of a real browser.
import assert from 'node:assert/strict';
import { after, suite, type TestContext } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';
import { clickNotification, deliverPush, waitForController, waitForNotification } from './support/push-messages.ts';
import { type PushService, startPushService } from './support/push-service.ts';

function message(more: object): string {
  return JSON.stringify({
    id: 'n-1',
    type: 'external_notification',
    title: 'Disk full',
    body: 'On db-1.',
    source: 'nagios',
    category: 'info',
    severity: null,
    data: {},
    createdAt: '2026-11-15T08:00:00.000Z',
    ...more,
  });
}

suite('Push', () => {
  let push: PushService;
  const inbox = openInbox(async () => {
    push = await startPushService();
    return push.environment;
  }, 'whole');
  after(() => push?.stop());

  async function openPage(t: TestContext, path = '/devices', options = {}): Promise<Page> {
    const page = await inbox.newPage(t, { signedIn: true, permissions: ['notifications'], ...options });
    await page.goto(path);
    await waitForController(page);
    return page;
  }

  inbox.test('shows a message as a notification with its title, body, time and tag', async (t) => {
    const page = await openPage(t);
    await deliverPush(page, message({ severity: 'error' }));
    const shown = await waitForNotification(page, 'n-1');
    assert.deepEqual(
      [shown.title, shown.body, shown.data, shown.timestamp],
      ['Disk full', 'On db-1.', { id: 'n-1' }, Date.parse('2026-11-15T08:00:00.000Z')],
    );
    assert.deepEqual([shown.requireInteraction, shown.silent, shown.vibrate], [false, false, []]);
    for (const address of [shown.icon, shown.badge]) {
      const response = await page.request.get(address);
      assert.equal(response.headers()['content-type'], 'image/png', address);
    }
  });

  inbox.test('keeps a critical notification until interaction, and vibrates', async (t) => {
    const page = await openPage(t);
    await deliverPush(page, message({ id: 'n-2', severity: 'critical' }));
    const { requireInteraction, vibrate, silent } = await waitForNotification(page, 'n-2');
    assert.equal(requireInteraction, true);
    assert.ok(vibrate.length > 2);
    assert.equal(silent, false);
  });

  inbox.test('shows scalar data values instead of an empty body, and no nested ones', async (t) => {
    const page = await openPage(t);
    const data = { host: 'db-1', usage: 97, nested: { secret: 1 }, long: 'x'.repeat(500), ok: false };
    await deliverPush(page, message({ id: 'n-3', body: '', data }));
    const { body } = await waitForNotification(page, 'n-3');
    assert.equal(body, `host: db-1\nusage: 97\nlong: ${'x'.repeat(59)}…\nok: false`);
    await deliverPush(page, message({ id: 'n-4', body: '', data: undefined, truncated: true }));
    assert.equal((await waitForNotification(page, 'n-4')).body, '');
  });

  inbox.test('shows a notification for an unreadable message, because browsers require one', async (t) => {
    const page = await openPage(t);
    for (const text of ['', 'no JSON', '[]', '{"id":7}']) {
      await deliverPush(page, text);
      const { title, body, data } = await waitForNotification(page, 'unreadable');
      assert.deepEqual([title, data], ['Tocsin', { id: null }], text);
      assert.match(body, /Open the inbox/);
    }
  });

  inbox.test('opens a clicked notification in the open window without reloading it', async (t) => {
    const page = await openPage(t);
    const { id } = await inbox.post({ title: 'To be opened', body: 'Here I am.' });
    await deliverPush(page, message({ id, title: 'To be opened' }));
    await waitForNotification(page, id);
    await page.evaluate(() => Object.assign(window, { isStillHere: true }));
    await clickNotification(page, id);
    await page.waitForURL(`**/inbox/${id}`);
    await page.getByText('Here I am.').first().waitFor();
    assert.equal(await page.evaluate(() => 'isStillHere' in window), true);
  });

  inbox.test('works end to end: subscribe, POST, push service, service worker, notification', async (t) => {
    const client = await inbox.owner();
    const { body: session } = await client.get<{ service: { webPushKey: string } }>('/api/session');
    const { subscription, received } = push.subscribe(session.service.webPushKey);
    const page = await inbox.newPage(t, { signedIn: true, permissions: ['notifications'], viewport: phone });
    // The browser vendor's push service is not reachable from tests, so it is replaced; everything else is real.
    await page.addInitScript(
      (json) => {
        let current: unknown = null;
        const unsubscribe = async (): Promise<boolean> => {
          current = null;
          return true;
        };
        const own = { ...json, toJSON: () => json, unsubscribe };
        PushManager.prototype.getSubscription = async () => current as PushSubscription;
        PushManager.prototype.subscribe = async (options) => {
          if (!(options?.applicationServerKey as Uint8Array | undefined)?.length) throw new Error('no key');
          current = own;
          return own as unknown as PushSubscription;
        };
      },
      subscription as { endpoint: string },
    );
    await page.goto('/devices');
    await waitForController(page);
    const panel = page.getByRole('region', { name: 'Push in this browser' });
    await panel.getByRole('button', { name: 'Enable' }).click();
    await panel.getByText('On', { exact: true }).waitFor();
    await expectAccessible(page);
    await expectNoSidewaysScroll(page);
    const { body: listed } = await client.get<{ pushTargets: { label: string }[] }>('/api/push-targets');
    assert.deepEqual(
      listed.pushTargets.map(({ label }) => label),
      ['Chrome on Linux'],
    );

    const accepted = await inbox.post({ title: 'Backup failed', body: 'No space left.', severity: 'critical' });
    assert.equal(accepted.pushSent, true, JSON.stringify(accepted));
    await deliverPush(page, received.at(-1)?.text ?? '');
    const shown = await waitForNotification(page, accepted.id);
    assert.deepEqual([shown.title, shown.body, shown.requireInteraction], ['Backup failed', 'No space left.', true]);

    // Info has a sound until it is silenced in this browser.
    const quiet = await inbox.post({ title: 'Backup done', severity: 'info' });
    await deliverPush(page, received.at(-1)?.text ?? '');
    assert.equal((await waitForNotification(page, quiet.id)).silent, false);
    await panel.getByRole('switch', { name: /Silent for info/ }).check();
    const quieter = await inbox.post({ title: 'Backup done again', severity: 'info' });
    await eventually(
      'the setting is applied',
      5000,
      async () => {
        await deliverPush(page, received.at(-1)?.text ?? '');
        return (await waitForNotification(page, quieter.id)).silent;
      },
      (silent) => silent === true,
    );

    const before = received.length;
    await panel.getByRole('button', { name: 'Send a test' }).click();
    await eventually(
      'the test arrives',
      5000,
      () => received.length,
      (count) => count === before + 1,
    );

    await panel.getByRole('button', { name: 'Disable' }).click();
    await panel.getByText('Off', { exact: true }).waitFor();
    const { body: left } = await client.get('/api/push-targets');
    assert.deepEqual(left, { pushTargets: [] });
    const ask = async (): Promise<boolean> => (await inbox.post({ title: 'Without push' })).pushSent;
    await eventually('no push is sent', 2000, ask, (pushSent) => !pushSent);
  });

  inbox.test('explains what to do if the browser blocks notifications', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.addInitScript(() => {
      Object.defineProperty(Notification, 'permission', { get: () => 'denied' });
    });
    await page.goto('/devices');
    await page.getByText('This browser blocks notifications from this site.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Enable' }).count(), 0);
    await expectAccessible(page);
  });
});
