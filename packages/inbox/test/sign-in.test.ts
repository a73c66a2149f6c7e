import assert from 'node:assert/strict';
import { after, suite } from 'node:test';
import { linkFor } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { TestOidcProvider } from '@tocsin/test-support/oidc-provider.ts';
import { startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import type { CDPSession, Page } from 'playwright-core';
import { openInbox, phone } from './support/browser.ts';
import { expectAccessible, expectNoSidewaysScroll } from './support/expectations.ts';

suite('The first sign-in', () => {
  const inbox = openInbox();
  let link: string;

  inbox.test('needs one click after opening the link that the first run printed', async (t) => {
    link = inbox.takeSignInLink();
    const page = await inbox.newPage(t);
    await page.goto(link);
    await page.getByRole('heading', { name: 'Sign in as First owner' }).waitFor();
    assert.equal(await page.title(), 'Sign in · Tocsin');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    assert.equal(page.url(), `${inbox.origin}/`);
    assert.equal(await page.title(), 'Inbox · Tocsin');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    await page.goto(link);
    await page.getByText('You are already signed in here.').waitFor();
    await page.getByRole('link', { name: 'Back to the inbox' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
  });

  inbox.test('explains that a used link no longer works, and what to do', async (t) => {
    const page = await inbox.newPage(t);
    await page.goto(link);
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    await page.getByText('npx tocsin owner sign-in').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Other ways to sign in' }).click();
    await page.getByRole('heading', { name: 'Sign in to Tocsin' }).waitFor();
  });

  inbox.test('continues to the page that was requested', async (t) => {
    const page = await inbox.newPage(t);
    const authenticator = await signOutWithPasskey(page, 'My laptop');
    await page.goto('/keys');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    assert.equal(page.url(), `${inbox.origin}/keys`);
    await authenticator.detach();
  });

  /** Adds a passkey in the settings and signs out. */
  async function signOutWithPasskey(page: Page, name: string): Promise<CDPSession> {
    const authenticator = await addAuthenticator(page);
    const owner = inbox.gateway.line.firstRun?.owner ?? '';
    await page.goto(await linkFor(inbox.installation, inbox.origin, owner));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    await page.goto('/settings#sign-in');
    await page.getByLabel('Name of a new passkey').fill(name);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.locator('#sign-in').getByText(name, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).last().click();
    await page.getByRole('heading', { name: 'Sign in to Tocsin' }).waitFor();
    return authenticator;
  }

  inbox.test('rejects a deleted passkey with an error', async (t) => {
    const page = await inbox.newPage(t);
    const authenticator = await signOutWithPasskey(page, 'My old laptop');
    const owner = await inbox.owner();
    const { body } = await owner.get<{ passkeys: { id: string }[] }>('/api/passkeys');
    for (const { id } of body.passkeys) await owner.delete(`/api/passkeys/${id}`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').waitFor();
    await expectAccessible(page);
    await authenticator.detach();
  });
});

suite('Sign-in with a provider and by email', () => {
  let provider: TestOidcProvider;
  let smtp: TestSmtpServer;
  const inbox = openInbox(async () => {
    provider = await TestOidcProvider.start({
      ann: { email: 'ann@example.org', email_verified: true, name: 'Ann' },
      eve: { email: 'eve@example.org', email_verified: true, name: 'Eve' },
    });
    smtp = await startSmtpServer();
    return {
      ...provider.settings,
      TOCSIN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      TOCSIN_EMAIL_FROM: 'tocsin@example.org',
    };
  });
  after(async () => {
    await provider?.stop();
    await smtp?.kill();
  });

  inbox.test('offers every method, on phones as well, and reports that the provider is down', async (t) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await inbox.newPage(t, { viewport: phone, colorScheme });
      await page.goto('/');
      await page.getByRole('link', { name: 'Sign in with Team sign-in' }).waitFor();
      await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
      await page.getByLabel('Email address').waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    }
    const page = await inbox.newPage(t);
    await page.goto('/sign-in');
    await page.getByRole('link', { name: 'Sign in with Team sign-in' }).click();
    await page.getByText('does not respond').waitFor();
    provider.open(inbox.origin);
    await inbox.installation.json('owner', 'create', '--name', 'Ann', '--email', 'ann@example.org');
  });

  inbox.test('signs in a known owner through the provider', async (t) => {
    const page = await inbox.newPage(t, { otherHosts: providerHosts() });
    await signInAtProvider(page, 'ann');
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    await page.locator('.sidebar').getByText('Ann', { exact: true }).waitFor();
  });

  inbox.test('rejects an address of the provider that no owner has', async (t) => {
    const page = await inbox.newPage(t, { otherHosts: providerHosts() });
    await signInAtProvider(page, 'eve');
    await page.getByText('no owner here has that email address').waitFor();
  });

  /** The pages of the provider load a font from another host. */
  function providerHosts(): string[] {
    return [new URL(provider.issuer).host, 'fonts.googleapis.com'];
  }

  async function signInAtProvider(page: Page, account: string): Promise<void> {
    await page.route('https://fonts.googleapis.com/**', (route) => route.fulfill({ contentType: 'text/css' }));
    await page.goto('/sign-in');
    await page.getByRole('link', { name: 'Sign in with Team sign-in' }).click();
    await page.locator('input[name=login]').fill(account);
    await page.locator('input[name=password]').fill('any');
    await page.locator('[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(`${inbox.origin}/**`);
  }

  inbox.test('sends a link by email, and responds the same for unknown addresses', async (t) => {
    const page = await inbox.newPage(t);
    await askForLink(page, 'unknown@example.org');
    await page.getByText('If unknown@example.org is known here, a link is on its way').waitFor();
    await page.getByRole('button', { name: 'Use another address' }).click();
    await askForLink(page, 'ann@example.org');
    await page.getByText('If ann@example.org is known here, a link is on its way').waitFor();
    await page.goto(await emailedLink('ann@example.org'));
    await page.getByRole('heading', { name: 'Sign in as Ann' }).waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    // Ann also gets an email about the sign-in; the unknown address gets nothing.
    assert.deepEqual([...new Set(smtp.emails.flatMap(({ recipients }) => recipients))], ['ann@example.org']);
  });

  inbox.test('changes the email address only after its owner opened the confirmation link', async (t) => {
    const page = await inbox.newPage(t, { signedIn: true });
    await page.goto('/settings#profile');
    await page.getByLabel('Email address').fill('watch@example.org');
    await page.getByLabel('Email address').press('Enter');
    await page.getByText('A confirmation link is on its way to watch@example.org').waitFor();
    const link = await emailedLink('watch@example.org');
    const signedOut = await inbox.newPage(t);
    await signedOut.goto(link);
    await signedOut.getByRole('button', { name: 'Confirm' }).click();
    await signedOut.getByRole('heading', { name: 'Sign in as First owner to confirm' }).waitFor();
    await page.goto(link);
    await page.getByText('watch@example.org becomes the email address of First owner').waitFor();
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('Your email address is now watch@example.org.').waitFor();
    await page.locator('.sidebar').getByText('watch@example.org').waitFor();

    await page.goto('/settings');
    await page.getByRole('switch', { name: 'Email me each notification' }).check();
    await page.getByText('Saved').waitFor();
    await page.getByRole('button', { name: 'Send a test email' }).click();
    await page.getByText('The SMTP server accepted the test email').waitFor();
  });

  async function askForLink(page: Page, address: string): Promise<void> {
    if (page.url() === 'about:blank') await page.goto('/sign-in');
    await page.getByLabel('Email address').fill(address);
    await page.getByRole('button', { name: 'Email me a link' }).click();
  }

  /** The link in the newest email to that address, ignoring emails about a new sign-in. */
  async function emailedLink(address: string): Promise<string> {
    const sent = await eventually(
      `an email to ${address}`,
      5000,
      () =>
        smtp.emails.findLast(
          ({ recipients, raw }) => recipients.includes(address) && !/^Subject: New sign-in/m.test(raw),
        ),
      (found) => found !== undefined,
    );
    const text = (sent?.raw ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=');
    const [found] = /http:\/\/\S+\/sign-in#[\w-]+/.exec(text) ?? [];
    assert.ok(found, text);
    return found;
  }
});

async function addAuthenticator(page: Page): Promise<CDPSession> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return cdp;
}
