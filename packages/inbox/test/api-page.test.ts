// The API page, which is public.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { suite } from 'node:test';
import { promisify } from 'node:util';
import { errors, notifyErrors, openApiDocument } from '@tocsin/contract';
import type { Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';

const execute = promisify(execFile);

suite('The API page', () => {
  const inbox = openInbox();

  inbox.test(
    'shows every field, header, status and error code of the OpenAPI document without signing in',
    async (t) => {
      const page = await inbox.newPage(t);
      await page.goto('/docs');
      await page.getByRole('heading', { name: 'POST / Send a notification' }).waitFor();
      const shown = (await page.locator('main').textContent()) ?? '';
      const { components } = openApiDocument('0') as { components: Components };
      const fields = ['NotificationRequest', 'MqttConfig', 'Notified', 'Metadata'].flatMap((name) =>
        Object.keys(components.schemas[name]?.properties ?? {}),
      );
      assert.ok(fields.length > 50);
      const headers = [
        'Authorization: Bearer',
        'X-API-Key',
        'X-SERVICE-Key',
        'X-Timestamp',
        'X-Signature',
        'Idempotency-Key',
      ];
      const codes = notifyErrors.flatMap((code) => [code, String(errors[code].status), errors[code].when]);
      for (const word of [...fields, ...headers, ...codes]) assert.ok(shown.includes(word), `${word} is missing`);
      assert.ok(shown.includes('Default: "External Notification"'));
      // The public API has its own listener, separate from the one that serves the page.
      assert.ok(shown.includes(`http://localhost:${new URL(inbox.gateway.api).port}/`));
    },
  );

  inbox.test('sends with a pasted key, shows the response, and an equivalent curl command', async (t) => {
    const page = await inbox.newPage(t);
    await page.goto('/docs');
    await page.getByRole('textbox', { name: 'Key' }).fill(inbox.gateway.key);
    await page.getByRole('textbox', { name: 'Title' }).fill(`It's a try`);
    await page.getByRole('combobox', { name: 'Severity' }).selectOption('warning');
    await page.getByRole('switch', { name: 'Push' }).uncheck();
    await page.getByRole('textbox', { name: 'Data' }).fill('{"host": "db-1"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Push: off for this request.').waitFor();
    await page.getByText('Status 200').waitFor();
    const expected = { title: `It's a try`, severity: 'warning', dataKeys: ['host'] };
    const response = JSON.parse(await page.getByRole('region', { name: 'the response' }).innerText());
    assert.partialDeepStrictEqual(response, { ok: true, pushEnabled: false, payloadPreview: expected });
    const { stdout } = await execute('bash', ['-c', await curl(page)]);
    assert.partialDeepStrictEqual(JSON.parse(stdout), { ok: true, pushEnabled: false, payloadPreview: expected });
  });

  inbox.test('shows why a request was rejected, and discards the key with the page', async (t) => {
    const page = await inbox.newPage(t);
    await page.goto('/docs');
    await page.getByRole('textbox', { name: 'Key' }).fill('svc_unknown');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('The request was rejected (401): Invalid API key.').waitFor();
    const stored = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]),
    );
    assert.ok(!stored.includes('svc_unknown'));
    await page.reload();
    assert.equal(await page.getByRole('textbox', { name: 'Key' }).inputValue(), '');
  });

  inbox.test('disables sending while the data is not a JSON object', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/docs');
    await page.getByRole('textbox', { name: 'Data' }).fill('[1]');
    await page.getByText('This must be a JSON object.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send' }).isDisabled(), true);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    inbox.test(`is accessible and fits a phone, ${colorScheme}`, async (t) => {
      const page = await inbox.newPage(t, { viewport: phone, colorScheme });
      await page.goto('/docs');
      await page.getByRole('heading', { name: 'Try it' }).waitFor();
      await page.locator('details').evaluateAll((all) => {
        for (const each of all) each.setAttribute('open', '');
      });
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    });
  }
});

interface Components {
  schemas: Record<string, { properties?: object }>;
}

function curl(page: Page): Promise<string> {
  return page.getByRole('region', { name: 'the curl command' }).innerText();
}
