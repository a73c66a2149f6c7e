// Email against a real SMTP server: messages that arrive, errors for failures, and that no server can block a request.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { after, before, beforeEach, suite, type TestContext, test } from 'node:test';
import type { NotificationContent } from '@tocsin/contract';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { canRun, type Obstacle, obstacleIn } from '@tocsin/test-support/requires.ts';
import { type Certificates, createCertificates } from '@tocsin/test-support/smtp-certificates.ts';
import { decodeWords, parseMessage } from '@tocsin/test-support/smtp-message.ts';
import { serverText, startSmtpServer, type TestSmtpServer } from '@tocsin/test-support/smtp-server.ts';
import { createEmailSender } from '../src/channels/email/sender.ts';
import { type EmailTarget, mailbox } from '../src/channels/email/target.ts';
import type { OpenChannel } from '../src/core/channel.ts';
import type { Notification } from '../src/core/notification.ts';
import { isAccepted, type Outcome, type Retry } from '../src/core/outcome.ts';

const user = 'canary-user@example.com';
const password = 'canary:pass/w%rd€';
const signIn = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
const users = { [user]: password };
const settledWithinMs = 1500;

const notification: Notification = {
  id: '0198f3c2-7d00-7000-8000-00000000abcd',
  ownerId: 'owner',
  createdAt: Date.UTC(2026, 6, 31, 14, 5, 9),
  content: {
    title: 'Disk almost full',
    body: 'Only 3 % left.',
    source: 'backup',
    category: 'task',
    severity: 'critical',
    data: { host: 'db-1', deep: { free: [1, 2] } },
  },
};

interface Mailbox {
  channel: OpenChannel<EmailTarget>;
  send(changes?: Partial<NotificationContent>, signal?: AbortSignal): Promise<Outcome>;
}

/** A channel that is closed after the test. Every error it returns is searched for secrets. */
function openMailbox(
  t: { after(end: () => Promise<void>): void },
  url: string,
  { timeoutMs = 5000, from = 'Tocsin <tocsin@example.com>', to = 'ann@example.org', ca = '' } = {},
): Mailbox {
  const channel = createEmailSender({ url: new URL(url), from, timeoutMs }, ca === '' ? undefined : { ca });
  t.after(() => channel.close());
  return {
    channel,
    async send(changes = {}, signal = AbortSignal.timeout(timeoutMs)) {
      const options = { qos: 1, customBroker: null } as const;
      const content = { ...notification.content, ...changes };
      const [outcome] = await channel.send({ ...notification, content }, [mailbox(to)], options, signal);
      assert.ok(outcome);
      if (!isAccepted(outcome)) assertDiscreet(outcome.error);
      return outcome;
    },
  };
}

function assertDiscreet(text: string): void {
  for (const secret of [user, 'canary', password, encodeURIComponent(password), serverText, '5.1.1']) {
    assert.ok(!text.includes(secret), `"${text}" reveals ${secret}`);
  }
}

async function timed<T>(work: Promise<T>): Promise<{ result: T; tookMs: number }> {
  const start = performance.now();
  return { result: await work, tookMs: performance.now() - start };
}

suite('Email', () => {
  let server: TestSmtpServer;
  let url: string;

  before(async () => {
    server = await startSmtpServer();
    url = `smtp://127.0.0.1:${server.port}`;
  });
  after(() => server.kill());
  beforeEach(() => {
    server.resume();
    server.emails.length = 0;
    server.transcript = '';
    server.connectionCount = 0;
  });

  test('arrives with its text, its HTML and its headers', async (t) => {
    assert.deepEqual(await openMailbox(t, url).send(), { kind: 'sent' });
    const [email] = server.emails;
    assert.ok(email);
    const { headers, header, text, html } = parseMessage(email.raw);
    assert.deepEqual(headers.map(([name]) => name).sort(), [
      'Auto-Submitted',
      'Content-Type',
      'Date',
      'From',
      'Importance',
      'MIME-Version',
      'Message-ID',
      'Subject',
      'To',
      'X-Auto-Response-Suppress',
      'X-Priority',
    ]);
    assert.equal(header('Subject'), '[CRITICAL] Disk almost full');
    assert.equal(header('From'), 'Tocsin <tocsin@example.com>');
    assert.equal(header('To'), 'ann@example.org');
    assert.equal(header('Date'), 'Fri, 31 Jul 2026 14:05:09 +0000');
    assert.equal(header('Message-ID'), '<0198f3c2-7d00-7000-8000-00000000abcd@example.com>');
    assert.equal(header('Auto-Submitted'), 'auto-generated');
    assert.equal(header('X-Auto-Response-Suppress'), 'All');
    assert.ok(text.includes('Only 3 % left.') && text.includes('host: db-1'));
    assert.match(html, /<th [^>]*>host<\/th><td [^>]*>db-1<\/td>/);
  });

  test('goes to exactly one recipient, from the configured address', async (t) => {
    await openMailbox(t, url).send();
    assert.deepEqual(server.transcript.match(/^(MAIL|RCPT|DATA).*$/gim), [
      'MAIL FROM:<tocsin@example.com>',
      'RCPT TO:<ann@example.org>',
      'DATA',
    ]);
  });

  test('is not sent to anything that is not one plain address', async (t) => {
    for (const to of [
      'ann@example.org, eve@example.org',
      'ann@example.org;eve@example.org',
      'Ann <ann@example.org>',
      'ann@example.org\r\nRCPT TO:<eve@example.org>',
      'ann@example.org eve@example.org',
      'friends: ann@example.org;',
      '"a,b"@example.org',
      'ann@example.org>',
      `${'a'.repeat(250)}@example.org`,
      'ann',
      '',
    ]) {
      const outcome = await openMailbox(t, url, { to }).send();
      const error = 'Email cannot be sent to this address';
      assert.deepEqual(outcome, { kind: 'rejected', reason: 'invalid_target', error }, to);
    }
    assert.equal(server.transcript, '');
  });

  test('keeps the address unchanged, also beyond ASCII', async (t) => {
    assert.equal((await openMailbox(t, url, { to: 'änn@exämple.org' }).send()).kind, 'sent');
    assert.deepEqual(server.emails[0]?.recipients, ['änn@exämple.org']);
  });

  test('gets no header and no recipient from a hostile title, source, body or data', async (t) => {
    const mailbox = openMailbox(t, url);
    await mailbox.send();
    const expected = parseMessage(server.emails[0]?.raw ?? '').headers.map(([name]) => name);
    for (const lineBreak of ['\r\n', '\n', '\r', '\u2028', '\u0085', '\u0000\r\n', '\v', '\f']) {
      server.emails.length = 0;
      const hostile = `x${lineBreak}Bcc: eve@example.com${lineBreak}${lineBreak}<b>${lineBreak}.${lineBreak}RCPT TO:<eve@example.com>`;
      const data = { [hostile]: hostile };
      assert.equal((await mailbox.send({ title: hostile, source: hostile, body: hostile, data })).kind, 'sent');
      assert.equal(server.emails.length, 1);
      const [email] = server.emails;
      const { headers, header } = parseMessage(email?.raw ?? '');
      assert.deepEqual(
        headers.map(([name]) => name),
        expected,
        JSON.stringify(lineBreak),
      );
      assert.match(decodeWords(header('Subject') ?? ''), /^\[CRITICAL\] x Bcc: eve@example\.com /);
      assert.deepEqual(email?.recipients, ['ann@example.org']);
    }
  });

  test('carries characters of any script', async (t) => {
    await openMailbox(t, url, { from: '"Glocke, München" <tocsin@example.com>' }).send({
      title: 'Größe 😀',
      body: '警告',
    });
    const { header, text, html } = parseMessage(server.emails[0]?.raw ?? '');
    assert.equal(decodeWords(header('Subject') ?? ''), '[CRITICAL] Größe 😀');
    assert.match(decodeWords(header('From') ?? ''), /^"?Glocke, München"? <tocsin@example\.com>$/);
    assert.ok(text.includes('警告') && html.includes('警告'));
  });

  test('has the same Message-ID when it is delivered again', async (t) => {
    await openMailbox(t, url).send();
    await openMailbox(t, url).send();
    const ids = server.emails.map(({ raw }) => parseMessage(raw).header('Message-ID'));
    assert.equal(ids.length, 2);
    assert.equal(ids[0], ids[1]);
  });

  test('reuses its connection, and opens no more than five', async (t) => {
    const mailbox = openMailbox(t, url);
    for (let count = 0; count < 20; count++) await mailbox.send();
    assert.equal(server.connectionCount, 1);
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => mailbox.send()));
    assert.ok(outcomes.every(({ kind }) => kind === 'sent'));
    assert.equal(server.emails.length, 60);
    assert.equal(server.connectionCount, 5);
  });

  test('uses a new connection if the server closed the old one in between', async (t) => {
    const mailbox = openMailbox(t, url);
    await mailbox.send();
    server.dropConnections();
    assert.deepEqual(await mailbox.send(), { kind: 'sent' });
    assert.equal(server.connectionCount, 2);
    assert.equal(server.emails.length, 2);
  });

  test('recovers by itself after a killed server has restarted', async (t) => {
    const mailbox = openMailbox(t, url);
    await mailbox.send();
    await server.kill();
    const outcome = await mailbox.send();
    assert.equal(outcome.kind, 'retry');
    assert.equal((outcome as Retry).reason, 'unreachable');
    await server.start();
    assert.deepEqual(await mailbox.send(), { kind: 'sent' });
    assert.equal(server.emails.length, 2);
  });

  suite('that the server refuses', () => {
    const unavailable = (reply: number) => `The SMTP server is not available (${reply})`;
    const rows: [step: keyof TestSmtpServer['faults'], reply: number, outcome: Outcome][] = [
      ['greeting', 421, { kind: 'retry', reason: 'unreachable', error: unavailable(421) }],
      ['greeting', 454, { kind: 'retry', reason: 'unreachable', error: unavailable(454) }],
      ['greeting', 554, { kind: 'retry', reason: 'unreachable', error: unavailable(554) }],
      [
        'mail',
        451,
        { kind: 'retry', reason: 'deferred', error: 'The SMTP server does not take the sender at the moment (451)' },
      ],
      ['mail', 553, { kind: 'retry', reason: 'unreachable', error: 'The SMTP server refused the sender (553)' }],
      [
        'mail',
        530,
        {
          kind: 'retry',
          reason: 'unreachable',
          error: 'The SMTP server wants encryption, or a user name and password, first (530)',
        },
      ],
      [
        'rcpt',
        450,
        { kind: 'retry', reason: 'deferred', error: 'The SMTP server does not take the recipient at the moment (450)' },
      ],
      ['rcpt', 421, { kind: 'retry', reason: 'unreachable', error: unavailable(421) }],
      ['rcpt', 550, { kind: 'rejected', reason: 'refused', error: 'The SMTP server refused the recipient (550)' }],
      [
        'rcpt',
        503,
        { kind: 'retry', reason: 'deferred', error: 'The SMTP server does not take the recipient at the moment (503)' },
      ],
      [
        'data',
        451,
        { kind: 'retry', reason: 'deferred', error: 'The SMTP server does not take the message at the moment (451)' },
      ],
      ['data', 552, { kind: 'rejected', reason: 'refused', error: 'The SMTP server refused the message (552)' }],
      ['data', 554, { kind: 'rejected', reason: 'refused', error: 'The SMTP server refused the message (554)' }],
    ];
    for (const [step, reply, expected] of rows) {
      test(`ends as ${expected.kind} after ${reply} at ${step}, and the next email is accepted`, async (t) => {
        const mailbox = openMailbox(t, url);
        server.faults[step] = reply;
        assert.deepEqual(await mailbox.send(), expected);
        assert.equal(server.emails.length, 0);
        server.resume();
        assert.deepEqual(await mailbox.send(), { kind: 'sent' });
      });
    }
  });

  suite('to a server that does not respond', () => {
    const steps = ['greeting', 'mail', 'rcpt', 'data'] as const;
    for (const step of steps) {
      test(`is aborted at the deadline when ${step} stalls, and its connection is closed`, async (t) => {
        const mailbox = openMailbox(t, url, { timeoutMs: 300 });
        server.faults[step] = 'stall';
        const { result, tookMs } = await timed(mailbox.send());
        const error = 'The SMTP server did not respond in time';
        assert.deepEqual(result, { kind: 'retry', reason: 'unreachable', error });
        assert.ok(tookMs >= 290 && tookMs < settledWithinMs, `${tookMs} ms`);
        await eventually(
          'the connection is closed',
          2000,
          () => server.openConnections,
          (count) => count === 0,
        );
      });

      test(`is aborted at once when the request is over while ${step} stalls`, async (t) => {
        const mailbox = openMailbox(t, url);
        server.faults[step] = 'stall';
        const request = new AbortController();
        const sending = mailbox.send({}, request.signal);
        await server.stalls(1);
        request.abort();
        const { result, tookMs } = await timed(sending);
        const error = 'The email was aborted before the SMTP server had accepted it';
        assert.deepEqual(result, { kind: 'retry', reason: 'deferred', error });
        assert.ok(tookMs < 200, `${tookMs} ms`);
        await eventually(
          'the connection is closed',
          2000,
          () => server.openConnections,
          (count) => count === 0,
        );
      });
    }

    test('leaves the queue together with its caller, so that nothing is sent after it was reported as failed', async (t) => {
      const mailbox = openMailbox(t, url, { timeoutMs: 400 });
      server.faults.rcpt = 'stall';
      const outcomes = await Promise.all(Array.from({ length: 12 }, () => mailbox.send()));
      assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(['retry']));
      server.resume();
      assert.deepEqual(await mailbox.send({ title: 'The only one' }), { kind: 'sent' });
      assert.equal(server.emails.length, 1);
      assert.equal(parseMessage(server.emails[0]?.raw ?? '').header('Subject'), '[CRITICAL] The only one');
    });

    test('stops waiting for a free connection when the request is over', async (t) => {
      const mailbox = openMailbox(t, url);
      server.faults.rcpt = 'stall';
      const ahead = Array.from({ length: 5 }, () => mailbox.send());
      await server.stalls(5);
      const request = new AbortController();
      const waiting = mailbox.send({}, request.signal);
      request.abort();
      const error = 'No connection to the SMTP server was free in time';
      assert.deepEqual(await waiting, { kind: 'retry', reason: 'not_attempted', error });
      server.resume();
      assert.deepEqual(new Set((await Promise.all(ahead)).map(({ kind }) => kind)), new Set(['sent']));
      assert.equal(server.emails.length, 5);
    });

    test('is not started when the request is already over', async (t) => {
      const { result, tookMs } = await timed(openMailbox(t, url).send({}, AbortSignal.abort()));
      assert.equal(result.kind, 'retry');
      assert.equal((result as Retry).reason, 'not_attempted');
      assert.ok(tookMs < 100, `${tookMs} ms`);
      assert.equal(server.connectionCount, 0);
    });

    test('is aborted at the deadline also when the server keeps sending', async (t) => {
      const chatter = await startChatter(t);
      const { result, tookMs } = await timed(openMailbox(t, chatter, { timeoutMs: 300 }).send());
      assert.equal((result as Retry).reason, 'unreachable');
      assert.ok(tookMs < settledWithinMs, `${tookMs} ms`);
    });
  });

  test('ends as retry when nothing listens', async (t) => {
    const { close, url: deserted } = await listen(() => undefined);
    await close();
    const outcome = await openMailbox(t, deserted).send();
    const error = 'The SMTP server cannot be reached (ECONNREFUSED)';
    assert.deepEqual(outcome, { kind: 'retry', reason: 'unreachable', error });
  });

  test('ends as retry when every connection is closed early, or another protocol responds', async (t) => {
    for (const [answer, error] of [
      [null, 'The SMTP server ended the connection'],
      ['HTTP/1.1 400 Bad Request\r\n\r\n', 'What answers at the address is not an SMTP server'],
    ] as const) {
      const stranger = await listen((socket) => (answer === null ? socket.destroy() : socket.end(answer)));
      t.after(stranger.close);
      assert.deepEqual(await openMailbox(t, stranger.url).send(), { kind: 'retry', reason: 'unreachable', error });
    }
  });

  test('is refused once the channel is closed, while email in flight still arrives', async (t) => {
    const mailbox = openMailbox(t, url);
    server.faults.data = 'stall';
    const onItsWay = mailbox.send();
    await server.stalls(1);
    const closing = mailbox.channel.close();
    const error = 'The email channel is shut down';
    assert.deepEqual(await mailbox.send(), { kind: 'retry', reason: 'not_attempted', error });
    server.resume();
    assert.deepEqual(await onItsWay, { kind: 'sent' });
    await closing;
    await eventually(
      'the connection is closed',
      2000,
      () => server.openConnections,
      (count) => count === 0,
    );
  });

  test('that waits for a free connection is refused when the channel closes', async (t) => {
    const mailbox = openMailbox(t, url);
    server.faults.rcpt = 'stall';
    const ahead = Array.from({ length: 5 }, () => mailbox.send());
    await server.stalls(5);
    const waiting = mailbox.send();
    const closing = mailbox.channel.close();
    assert.equal((await waiting).kind, 'retry');
    server.resume();
    await Promise.all([closing, ...ahead]);
    assert.equal(server.emails.length, 5);
  });

  suite('with a user name and a password', () => {
    for (const method of ['PLAIN', 'LOGIN']) {
      test(`signs in with ${method}`, async (t) => {
        const guarded = await startSmtpServer({ users, authMethods: [method], disabledCommands: ['STARTTLS'] });
        t.after(() => guarded.kill());
        const mailbox = openMailbox(t, `smtp://${signIn}127.0.0.1:${guarded.port}?requireTLS=false`);
        assert.deepEqual(await mailbox.send(), { kind: 'sent' });
        assert.equal(guarded.emails[0]?.user, user);
        assert.equal(guarded.emails[0]?.authMethod, method);
        assert.equal(await mailbox.channel.check(), null);
      });

      test(`reports that ${method} was refused, without the text of the server`, async (t) => {
        const guarded = await startSmtpServer({ users, authMethods: [method], disabledCommands: ['STARTTLS'] });
        t.after(() => guarded.kill());
        const mailbox = openMailbox(
          t,
          `smtp://${encodeURIComponent(user)}:canary-wrong@127.0.0.1:${guarded.port}?requireTLS=false`,
        );
        const error = 'The SMTP server did not accept the user name and password';
        assert.deepEqual(await mailbox.send(), { kind: 'retry', reason: 'unreachable', error });
        const advice = await mailbox.channel.check();
        assert.equal(advice, `${error}. Check the user name and password in TOCSIN_SMTP_URL.`);
      });
    }

    test('keeps a percent sign in a password', async (t) => {
      const guarded = await startSmtpServer({ users: { ann: '100%' }, disabledCommands: ['STARTTLS'] });
      t.after(() => guarded.kill());
      assert.deepEqual(await openMailbox(t, `smtp://ann:100%@127.0.0.1:${guarded.port}?requireTLS=false`).send(), {
        kind: 'sent',
      });
    });

    test('reports that the server requires one and none is configured', async (t) => {
      const guarded = await startSmtpServer({ users, disabledCommands: ['STARTTLS'] });
      t.after(() => guarded.kill());
      const outcome = await openMailbox(t, `smtp://127.0.0.1:${guarded.port}`).send();
      assert.equal((outcome as Retry).reason, 'unreachable');
      assert.match((outcome as Retry).error, /\(530\)$/);
    });
  });

  suite('over TLS', () => {
    const obstacle: Obstacle = obstacleIn('openssl', ['version']);
    let certificates: Certificates;
    let upgrading: TestSmtpServer;
    let encrypted: TestSmtpServer;

    before(async () => {
      if (obstacle !== null) return;
      certificates = await createCertificates();
      const { key, cert } = certificates;
      upgrading = await startSmtpServer({ key, cert, users });
      encrypted = await startSmtpServer({ key, cert, users, secure: true });
    });
    after(async () => {
      if (obstacle !== null) return;
      await Promise.all([upgrading.kill(), encrypted.kill()]);
    });
    const tlsTest = (name: string, run: (t: TestContext) => Promise<void>) =>
      test(name, async (t) => {
        if (canRun(t, obstacle)) await run(t);
      });

    tlsTest('is encrypted where the server offers STARTTLS, before the password is sent', async (t) => {
      const mailbox = openMailbox(t, `smtp://${signIn}localhost:${upgrading.port}`, certificates);
      assert.deepEqual(await mailbox.send(), { kind: 'sent' });
      assert.equal(upgrading.emails.at(-1)?.isSecure, true);
      assert.doesNotMatch(upgrading.transcript, /AUTH|MAIL/);
      assert.match(upgrading.transcript, /STARTTLS/);
      assert.equal(await mailbox.channel.check(), null);
    });

    tlsTest('is encrypted from the start with smtps', async (t) => {
      const mailbox = openMailbox(t, `smtps://${signIn}localhost:${encrypted.port}`, certificates);
      assert.deepEqual(await mailbox.send(), { kind: 'sent' });
      assert.equal(encrypted.emails.at(-1)?.isSecure, true);
      assert.equal(await mailbox.channel.check(), null);
    });

    tlsTest('is not sent in plaintext with a password, unless the operator explicitly allowed it', async (t) => {
      const stripped = await startSmtpServer({ users, disabledCommands: ['STARTTLS'] });
      t.after(() => stripped.kill());
      const mailbox = openMailbox(t, `smtp://${signIn}127.0.0.1:${stripped.port}`);
      const error = 'The connection to the SMTP server could not be encrypted';
      assert.deepEqual(await mailbox.send(), { kind: 'retry', reason: 'unreachable', error });
      assert.doesNotMatch(stripped.transcript, /AUTH|MAIL/);
      assert.match((await mailbox.channel.check()) ?? '', /\?requireTLS=false/);
    });

    tlsTest('is not sent in plaintext if requireTLS is set', async (t) => {
      const mailbox = openMailbox(t, `${url}?requireTLS=true`);
      const error = 'The connection to the SMTP server could not be encrypted';
      assert.deepEqual(await mailbox.send(), { kind: 'retry', reason: 'unreachable', error });
      assert.doesNotMatch(server.transcript, /MAIL FROM/);
      const patient = openMailbox(t, `smtp://${signIn}localhost:${upgrading.port}?requireTLS=true`, certificates);
      assert.deepEqual(await patient.send(), { kind: 'sent' });
    });

    tlsTest('is not sent to a server whose certificate is not trusted', async (t) => {
      const loose = 'tls.rejectUnauthorized=false&ignoreTLS=true';
      for (const address of [
        `smtps://${signIn}localhost:${encrypted.port}?${loose}`,
        `smtp://${signIn}localhost:${upgrading.port}?${loose}`,
      ]) {
        const outcome = await openMailbox(t, address).send();
        assert.equal(outcome.kind, 'retry');
        assert.match((outcome as Retry).error, /^The certificate of the SMTP server was not accepted \([A-Z_]+\)$/);
        assert.equal((outcome as Retry).reason, 'unreachable');
      }
    });

    tlsTest('is not sent to a server whose certificate is for another name', async (t) => {
      const outcome = await openMailbox(t, `smtps://${signIn}127.0.0.1:${encrypted.port}`, certificates).send();
      const error = 'The certificate of the SMTP server was not accepted (ERR_TLS_CERT_ALTNAME_INVALID)';
      assert.deepEqual(outcome, { kind: 'retry', reason: 'unreachable', error });
    });

    tlsTest('reports the cause when smtps meets a server without TLS', async (t) => {
      const mailbox = openMailbox(t, `smtps://127.0.0.1:${server.port}`, certificates);
      assert.match(
        ((await mailbox.send()) as Retry).error,
        /^The connection to the SMTP server could not be encrypted/,
      );
      assert.match((await mailbox.channel.check()) ?? '', /smtp: for STARTTLS, often port 587\. /);
    });
  });

  suite('checked by its operator', () => {
    test('is available when the server responds, and sends nothing', async (t) => {
      assert.equal(await openMailbox(t, url).channel.check(), null);
      assert.doesNotMatch(server.transcript, /MAIL FROM/);
    });

    test('says what to fix when nothing listens', async (t) => {
      const { close, url: deserted } = await listen(() => undefined);
      await close();
      const advice = (await openMailbox(t, deserted).channel.check()) ?? '';
      assert.match(
        advice,
        /^The SMTP server cannot be reached \(ECONNREFUSED\)\. Check the address in TOCSIN_SMTP_URL/,
      );
    });

    test('does not wait for a server that does not respond, or that keeps sending', async (t) => {
      server.faults.greeting = 'stall';
      for (const address of [url, await startChatter(t)]) {
        const { result, tookMs } = await timed(openMailbox(t, address, { timeoutMs: 300 }).channel.check());
        assert.match(result ?? '', /did not respond/);
        assert.ok(tookMs < settledWithinMs, `${tookMs} ms`);
      }
    });
  });
});

/** A server that authenticates no client and never stops sending, so that no silence is long enough for a timeout. */
async function startChatter(t: TestContext): Promise<string> {
  const { url, close } = await listen((socket) => {
    const timer = setInterval(() => socket.write('250-please hold the line\r\n'), 20);
    socket.once('close', () => clearInterval(timer));
    socket.write('220 welcome\r\n');
  });
  t.after(close);
  return url;
}

/** A server that listens but does not speak SMTP. */
async function listen(onConnection: (socket: Socket) => void): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
