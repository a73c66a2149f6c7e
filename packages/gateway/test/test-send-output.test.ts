// The JSON of failed test sends, which scripts read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from '@tocsin/test-support/install.ts';

type Output = Record<string, unknown> & { error: string };

test('Failed test sends report whether the provider was unreachable or was not asked at all', async (t) => {
  const installation = await install(t, {
    TOCSIN_SMTP_URL: 'smtp://127.0.0.1:1',
    TOCSIN_EMAIL_FROM: 'tocsin@example.com',
  });
  const create = ['owner', 'create', '--name', 'Ann', '--email', 'ann@example.com'];
  const owner = (await installation.json<{ id: string }>(...create)).id;
  const add = ['push', 'add', '--owner', owner, '--provider', 'fcm', '--token', 'f'.repeat(150)];
  const target = (await installation.json<{ id: string }>(...add)).id;
  const outputOf = async (...command: string[]): Promise<Output> => {
    const { exitCode, stdout } = await installation.run([...command, '--json']);
    assert.equal(exitCode, 1, stdout);
    return JSON.parse(stdout) as Output;
  };

  const { error: unreachable, ...email } = await outputOf('owner', 'test-email', owner);
  assert.match(unreachable, /ECONNREFUSED/);
  assert.deepEqual(email, { kind: 'retry', reason: 'unreachable', isUnreachable: true });

  const { error: notConfigured, ...push } = await outputOf('push', 'test', target);
  assert.match(notConfigured, /TOCSIN_FCM_CREDENTIALS/);
  assert.deepEqual(push, { kind: 'rejected', reason: 'not_configured', wasAsked: false });
});
