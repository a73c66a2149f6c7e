// The keys page, and requests with the keys that it creates.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { suite } from 'node:test';
import { promisify } from 'node:util';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import type { Locator, Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';

const execute = promisify(execFile);

suite('The keys page', () => {
  const inbox = openInbox();

  /** Runs a command exactly as the page shows it. */
  async function paste(command: string): Promise<{ ok: boolean; code?: string }> {
    const { stdout } = await execute('bash', ['-c', command]);
    return JSON.parse(stdout);
  }

  inbox.test('creates a key whose curl command works when pasted, and revokes it', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/keys');
    await openForm(page);
    await page.getByRole('textbox', { name: 'Label' }).fill(`Ann's "backup" $HOME`);
    await create(page);
    const command = await snippet(page).innerText();
    const key = await shownKey(page);
    assert.match(key, /^svc_/);
    assert.ok(command.includes(key));
    assert.equal((await paste(command)).ok, true);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: /^Inbox/ }).click();
    await page.getByText('Hello from curl').first().waitFor();

    await page.goto('/keys');
    assert.equal(await page.getByText(key).count(), 0);
    await page.getByRole('button', { name: `Revoke Ann's "backup" $HOME` }).click();
    await page.getByRole('dialog').getByText('Requests with this key are rejected within a second.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('1 revoked key').click();
    await item(page, `Ann's "backup" $HOME`).getByText('Revoked').waitFor();
    const send = () => notify({ api: inbox.gateway.api, key }, { title: 'Too late' });
    await eventually('the key is rejected', 1500, send, ({ status }) => status === 401);
  });

  inbox.test('shows a signing curl command for a key that requires a signature, and signs its test', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/keys');
    await openForm(page);
    await page.getByRole('textbox', { name: 'Label' }).fill('Signed');
    await page.getByRole('switch', { name: /Require a signature/ }).check();
    await page.getByRole('combobox', { name: 'Expires' }).selectOption('90');
    await page.getByRole('spinbutton', { name: 'Rate limit' }).fill('100');
    await create(page);
    assert.equal((await paste(await snippet(page).innerText())).ok, true);
    const unsigned = await notify({ api: inbox.gateway.api, key: await shownKey(page) }, { title: 'Unsigned' });
    assert.equal(unsigned.body.code, 'invalid_signature');

    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The key works: the notification was accepted.').waitFor();
    await page.getByText('MQTT: published to one device.').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    for (const fact of ['Signed requests only', 'At most 100 per minute', /^Public client .* Expires/]) {
      await item(page, 'Signed').getByText(fact).waitFor();
    }
  });

  inbox.test('keeps a new key on the screen until it is acknowledged', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/keys');
    await openForm(page);
    await page.getByRole('textbox', { name: 'Label' }).fill('Seen once');
    await create(page);
    const key = await shownKey(page);
    const ask = page.getByRole('dialog', { name: 'Close without the key?' });
    for (const close of [
      () => page.keyboard.press('Escape'),
      () => page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click(),
    ]) {
      await close();
      await ask.getByRole('button', { name: 'Cancel' }).click();
      await ask.waitFor({ state: 'detached' });
      assert.equal(await shownKey(page), key);
    }
    // Browsers close a dialog on the second Escape in a row, even if the event is cancelled.
    for (let press = 0; press < 6; press += 1) await page.keyboard.press('Escape');
    assert.equal(await shownKey(page), key);
    // The page may not show yet what the last of them did: each opens the question or closes it.
    await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
    if ((await ask.count()) === 0) await page.keyboard.press('Escape');
    await ask.getByRole('button', { name: 'Close', exact: true }).last().click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(await page.getByText(key).count(), 0);
  });

  inbox.test('rejects entries that are not domains before sending the form', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/keys');
    await openForm(page);
    await page.getByRole('textbox', { name: 'Label' }).fill('Nonsense');
    const domains = page.getByRole('textbox', { name: 'Allowed domains' });
    await domains.fill('good.example\nnot a domain!!');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('“not a domain!!” is not a domain.').waitFor();
    await domains.fill('good.example');
    assert.equal(await page.getByText('is not a domain.').count(), 0);
    await create(page);
    const { body } = await (await inbox.owner()).get<{ keys: { label: string; allowedDomains: string[] }[] }>(
      '/api/keys',
    );
    assert.deepEqual(body.keys.find(({ label }) => label === 'Nonsense')?.allowedDomains, ['good.example']);
  });

  inbox.test('explains why this page cannot use a key for other domains', async (t) => {
    // Pages on localhost may use every key. A subdomain is another origin, and also resolves to this machine.
    const elsewhere = inbox.origin.replace('localhost', 'inbox.localhost');
    const { port } = new URL(inbox.gateway.api);
    const page = await inbox.newPage(t, {
      expectedErrors: /status of 401/,
      otherHosts: [new URL(elsewhere).host, `inbox.localhost:${port}`],
    });
    const { cookies } = await inbox.owner();
    await page
      .context()
      .addCookies([...cookies].map(([name, value]) => ({ name, value, url: elsewhere, httpOnly: true })));
    await page.goto(`${elsewhere}/keys`);
    await openForm(page);
    await page.getByRole('textbox', { name: 'Label' }).fill('For the shop');
    await page.getByRole('textbox', { name: 'Allowed domains' }).fill('example.com, *.shop.example');
    await create(page);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The request was rejected (401): Origin is not allowed for this API key.').waitFor();
    await page.getByText('The key does not allow the domain of this page.').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await item(page, 'For the shop').getByText('Only pages on example.com, *.shop.example').waitFor();
  });

  inbox.test('shows errors at their fields', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /status of 400/ });
    await page.goto('/keys');
    await openForm(page);
    await page.getByRole('textbox', { name: 'Allowed domains' }).fill('example.com\nnot/a/domain');
    await page.getByRole('combobox', { name: 'Expires' }).selectOption('date');
    await page.getByLabel('Expires at').fill('2001-01-01T00:00');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('“not/a/domain” is not a domain.').waitFor();
    await page.getByRole('textbox', { name: 'Allowed domains' }).fill('example.com');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Choose a future date and time.').waitFor();
    assert.equal(await page.getByLabel('Expires at').getAttribute('aria-invalid'), 'true');
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    inbox.test(`is accessible and fits a phone, ${colorScheme}`, async (t) => {
      const page = await inbox.newPage(t, { signedIn: true, viewport: phone, colorScheme });
      await page.goto('/keys');
      await page.getByRole('list', { name: 'Keys' }).waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
      await openForm(page);
      await expectAccessible(page);
      await create(page);
      await page.getByRole('tab', { name: 'curl' }).press('ArrowLeft');
      await snippet(page, 'GitHub Actions').getByText('secrets.TOCSIN_KEY').waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    });
  }
});

function openForm(page: Page): Promise<void> {
  return page.getByRole('button', { name: 'Create a key' }).click();
}

/** Creates the key and leaves its dialog open. */
async function create(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'Your new key' }).waitFor();
}

function snippet(page: Page, language = 'curl'): Locator {
  return page.getByRole('region', { name: `the ${language} snippet` });
}

function shownKey(page: Page): Promise<string> {
  return page.getByRole('dialog').locator('code').first().innerText();
}

function item(page: Page, name: string): Locator {
  return page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });
}
