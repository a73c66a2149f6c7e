// The owners page of operators.
import assert from 'node:assert/strict';
import { after, suite } from 'node:test';
import type { OwnerOverview } from '@tocsin/contract/console';
import { notify } from '@tocsin/test-support/requests.ts';
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { SoftwareAuthenticator } from '@tocsin/test-support/software-authenticator.ts';
import type { Locator, Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';

suite('The owners page', () => {
  let smtp: TestSmtpServer | undefined;
  const inbox = openInbox(async () => {
    smtp = await startSmtpServer();
    return { TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, TOCSIN_EMAIL_FROM: 'tocsin@example.com' };
  });
  after(() => smtp?.kill());

  inbox.test('asks an operator without a user-verifying passkey to add one, here and in the settings', async (t) => {
    const { id = '' } = await inbox.installation.json('owner', 'create', '--name', 'Dora');
    const dora = await inbox.signIn(id);
    const authenticator = new SoftwareAuthenticator(inbox.origin);
    const register = async (name: string): Promise<void> => {
      const { body } = await dora.post<Parameters<typeof authenticator.create>[0]>('/api/passkeys/options');
      const { status } = await dora.post('/api/passkeys', { name, credential: authenticator.create(body) });
      assert.equal(status, 201);
    };
    authenticator.verifiesUser = false;
    await register('Security key');
    await inbox.installation.json('owner', 'set', id, '--role', 'operator');

    const page = await inbox.newPage(t, { signedIn: dora });
    const notice = page.getByText('Operators need a passkey that asks for a PIN');
    for (const path of ['/owners', '/settings#sign-in']) {
      await page.goto(path);
      await notice.waitFor();
    }
    authenticator.verifiesUser = true;
    await register('Phone');
    await page.reload();
    await page.locator('#sign-in').getByText('Phone', { exact: true }).waitFor();
    assert.equal(await notice.count(), 0);
    // Deleting the owner ends the session of the page.
    await page.close();
    await inbox.installation.json('owner', 'delete', id);
  });

  inbox.test('adds an owner, sends an invitation by email, and shows counts but no content', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/owners');
    await page.getByText('never notifications').waitFor();
    await add(page, 'Ann Example', 'ann@example.com');
    await page.getByText('Ann Example was added, and an invitation is on its way to ann@example.com').waitFor();
    assert.deepEqual(
      smtp?.emails.map(({ recipients }) => recipients),
      [['ann@example.com']],
    );
    await page.getByRole('button', { name: 'Send sign-in link to Ann Example' }).click();
    await page.getByText('A sign-in link is on its way to ann@example.com').waitFor();
    assert.equal(smtp?.emails.length, 2);

    const ann = await ownerNamed('Ann Example');
    const { key = '' } = await inbox.installation.json('key', 'create', '--owner', ann.id);
    const { status } = await notify({ api: inbox.gateway.api, key }, { title: 'For Ann alone', sendEmail: false });
    assert.equal(status, 200);
    await page.reload();
    await row(page, 'Ann Example')
      .getByText(/second|now/)
      .waitFor();
    assert.match(
      (await row(page, 'Ann Example').innerText()).replaceAll(/\s+/g, ' '),
      /ann@example\.com own_\S+ 1 0 0 0 0 /,
    );
    assert.ok(!(await page.content()).includes('For Ann alone'));
  });

  inbox.test(
    'shows the command that prints a sign-in link for an owner without an address, and it works',
    async (t) => {
      const page = await inbox.newPage(t, { signedIn: true });
      await page.goto('/owners');
      await add(page, 'Dora', '');
      await row(page, 'Dora').getByRole('button', { name: 'Sign-in link for Dora' }).click();
      const dialog = page.getByRole('dialog', { name: 'Sign-in link for Dora' });
      const command = await dialog.getByRole('region', { name: 'the command' }).innerText();
      const dora = await ownerNamed('Dora');
      assert.equal(command.trim(), `npx tocsin owner sign-in ${dora.id}`);
      const { stdout } = await inbox.installation.run(command.trim().split(' ').slice(2), {
        TOCSIN_CONSOLE_URL: inbox.origin,
      });
      assert.match(stdout, /\/sign-in#/);
      await expectAccessible(page);
      // The page itself never contains a sign-in link of another owner.
      assert.ok(!(await page.content()).includes('/sign-in#'));
    },
  );

  inbox.test('rejects a second owner with the same email address', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true, expectedErrors: /status of 409/ });
    await page.goto('/owners');
    await add(page, 'Bea', 'bea@example.com');
    await row(page, 'Bea').waitFor();
    await add(page, 'Bea again', 'BEA@example.com');
    await page.getByRole('alert').getByText('Another owner has this email address.').waitFor();
  });

  inbox.test('is not available to owners who are not operators', async (t) => {
    const { id } = await inbox.installation.json('owner', 'create', '--name', 'Carl');
    const page = await inbox.newPage(t, { signedIn: await inbox.signIn(id ?? '') });
    await page.goto('/owners');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Owners' }).count(), 0);
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    inbox.test(`is accessible and fits a phone, ${colorScheme}`, async (t) => {
      const page = await inbox.newPage(t, { signedIn: true, viewport: phone, colorScheme });
      await page.goto('/owners');
      await page.getByRole('rowheader').first().waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    });
  }

  async function ownerNamed(name: string): Promise<OwnerOverview> {
    const { body } = await (await inbox.owner()).get<{ owners: OwnerOverview[] }>('/api/operator/owners');
    const found = body.owners.find((owner) => owner.name === name);
    assert.ok(found);
    return found;
  }
});

async function add(page: Page, name: string, email: string): Promise<void> {
  await page.getByRole('button', { name: 'Add an owner' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.getByRole('textbox', { name: 'Email address' }).fill(email);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
}

function row(page: Page, name: string): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
}
