// Security notices: emails that inform an owner of sign-ins and changes of their account.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { ConsoleClient } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type LocalConsole, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { parseMessage } from '@tocsin/test-support/smtp-message.ts';
import { startSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { SoftwareAuthenticator } from '@tocsin/test-support/software-authenticator.ts';
import { createEmailSender } from '../src/channels/email/sender.ts';
import { createAccountMailer } from '../src/composition/account-mailer.ts';
import { EmailNotSent, type SecurityNotice } from '../src/console/deps.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

const address = 'ann@example.org';

suite('An owner gets an email', () => {
  let local: LocalConsole;
  before(async () => {
    local = await startLocalConsole();
  });
  beforeEach(() => local.notices.splice(0));
  after(() => local.stop());

  const kinds = (): string[] => local.notices.map(({ notice }) => notice.kind);
  const notified = (count: number) =>
    eventually('the owner is notified', 5000, kinds, ({ length }) => length === count);
  /** Notices are sent after the response, so a later one proves that none came before it. */
  async function lastNotice(client: ConsoleClient): Promise<SecurityNotice> {
    const count = local.notices.length;
    await addPasskey(client);
    await notified(count + 1);
    return local.notices.at(-1)?.notice as SecurityNotice;
  }
  async function addPasskey(client: ConsoleClient): Promise<void> {
    const { body } = await client.post<Parameters<SoftwareAuthenticator['create']>[0]>('/api/passkeys/options');
    const credential = new SoftwareAuthenticator(local.origin).create(body);
    assert.equal((await client.post('/api/passkeys', { name: 'Laptop', credential })).status, 201);
  }

  test('about a sign-in with a browser that was not used before, and about no other', async () => {
    const client = new ConsoleClient(local.origin);
    await client.post('/api/sign-in/link', { token: 'wrong' });
    await client.useLink(await local.link());
    await notified(1);
    const [first] = local.notices;
    assert.equal(first?.to, address);
    assert.equal(first?.settingsUrl, `${local.origin}/settings`);
    const { kind, method, address: from } = first.notice as Extract<SecurityNotice, { kind: 'new-browser' }>;
    assert.deepEqual([kind, method, from], ['new-browser', 'link', '127.0.0.1']);

    await client.useLink(await local.link());
    await client.post('/api/sign-out');
    await client.useLink(await local.link());
    assert.equal((await lastNotice(client)).kind, 'new-passkey');
    assert.deepEqual(kinds(), ['new-browser', 'new-passkey']);
  });

  test('about a browser that is known only for another owner', async () => {
    const bob = { name: 'Bob', email: 'bob@example.org', emailAlerts: false };
    const { id } = await createOwner(local.store, systemEnvironment, bob);
    const client = await local.signIn(id);
    await notified(1);
    await client.useLink(await local.link());
    await notified(2);
    await client.useLink(await local.link({ ownerId: id }));
    assert.equal((await lastNotice(client)).kind, 'new-passkey');
    assert.deepEqual(
      local.notices.map(({ to }) => to),
      ['bob@example.org', address, 'bob@example.org'],
    );
  });

  test('about no browser that was signed in before an upgrade, nor about one that used an emailed link', async () => {
    const client = await local.signIn();
    await notified(1);
    client.cookies.delete('tocsin-browser');
    local.clock.now += 10 * 60_000;
    assert.equal((await client.get('/api/session')).status, 200);
    await client.useLink(await local.link());
    const other = new ConsoleClient(local.origin);
    await other.post('/api/sign-in/mail', { email: address });
    const [message] = await eventually(
      'a link',
      5000,
      () => local.emails.splice(0),
      ({ length }) => length === 1,
    );
    await other.useLink(message?.url ?? '');
    assert.equal((await lastNotice(other)).kind, 'new-passkey');
    assert.deepEqual(kinds(), ['new-browser', 'new-passkey']);
  });

  test('at the old address if the address is changed or removed', async () => {
    const { id } = await createOwner(local.store, systemEnvironment, {
      name: 'Carol',
      email: 'old@example.org',
      emailAlerts: false,
    });
    const client = await local.signIn(id);
    await notified(1);
    await client.post('/api/preferences/email', { email: 'new@example.org' });
    const [message] = await eventually(
      'a link',
      5000,
      () => local.emails.splice(0),
      ({ length }) => length === 1,
    );
    assert.equal(message?.to, 'new@example.org');
    await client.useLink(message.url);
    await notified(2);
    await client.post('/api/preferences/email', { email: null });
    await notified(3);
    const changes = local.notices
      .slice(1)
      .map(({ to, notice }) => [to, notice.kind === 'email-changed' && notice.email]);
    assert.deepEqual(changes, [
      ['old@example.org', 'new@example.org'],
      ['new@example.org', null],
    ]);
  });

  test('whose failure does not show in the response, and is reported to the operator', async (t) => {
    const failing = await startLocalConsole({
      parts: {
        mailer: {
          sendSignInLink: async () => undefined,
          sendEmailConfirmation: async () => undefined,
          sendSecurityNotice: async () => {
            throw new EmailNotSent('The SMTP server cannot be reached');
          },
        },
      },
    });
    t.after(() => failing.stop());
    await failing.signIn();
    const warnings = () => failing.warnings;
    await eventually('the operator is notified', 5000, warnings, ({ length }) => length === 1);
    assert.deepEqual([failing.warnings, failing.failures], [['The SMTP server cannot be reached'], []]);
  });
});

test('Emails about an account say what happened and what to do, and repeat no text of a client', async (t) => {
  const server = await startSmtpServer();
  t.after(() => server.kill());
  const url = new URL(`smtp://127.0.0.1:${server.port}`);
  const channel = createEmailSender({ url, from: 'tocsin@example.com', timeoutMs: 5000 });
  t.after(() => channel.close());
  const mailer = createAccountMailer({ get: <Opened>() => channel as Opened });
  assert.ok(mailer);
  const owner = { ...plainOwner('own_ann', 1), name: 'Home lab', email: address };
  const settings = 'https://inbox.example.com/settings';
  const at = Date.parse('2026-11-15T21:00:00Z');
  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0 https://evil.example';
  const browser = { kind: 'new-browser', method: 'passkey', address: '192.0.2.7', at } as const;
  await mailer.sendSecurityNotice(owner, { ...browser, userAgent: firefox }, settings);
  await mailer.sendSecurityNotice(owner, { kind: 'new-passkey', name: 'Laptop', at }, settings);
  await mailer.sendSecurityNotice(owner, { kind: 'email-changed', email: 'new@example.org', at }, settings);
  await mailer.sendSecurityNotice(owner, { kind: 'email-changed', email: null, at }, settings);
  await mailer.sendSignInLink(owner, 'https://inbox.example.com/sign-in#token');
  await mailer.sendEmailConfirmation(owner, 'new@example.org', 'https://inbox.example.com/sign-in#token');
  const texts = server.emails.map(({ raw }) => parseMessage(raw).text);
  const expected: RegExp[][] = [
    [
      /New sign-in to Tocsin/,
      /with a passkey/,
      /Firefox on Linux/,
      /192\.0\.2\.7/,
      /2026-11-15 21:00 UTC/,
      /sign that browser out/,
    ],
    [/New passkey/, /Name: Laptop/, /delete it in Settings/],
    [/now uses new@example\.org/, /inform your operator immediately/],
    [/was removed/, /inform your operator/],
    [/This link signs you in to Tocsin\./, /If you didn't request this, ignore this email\./],
    [/You asked to use new@example\.org for your Tocsin inbox\. Confirm within 24 hours/],
  ];
  for (const [index, patterns] of expected.entries()) {
    for (const pattern of [/Hello Home lab,/, ...patterns]) assert.match(texts[index] ?? '', pattern);
    assert.doesNotMatch(texts[index] ?? '', /evil\.example/);
  }
});
