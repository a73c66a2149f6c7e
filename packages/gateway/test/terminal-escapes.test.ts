// Names and labels are chosen by owners and callers; commands that print them run in the terminal of an operator.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { ConsoleError } from '@tocsin/contract/console';
import type { ConsoleClient } from '@tocsin/test-support/console-client.ts';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { type LocalConsole, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { openStore } from '../src/store/open-store.ts';
import { createDevice, createKey, createOwner, systemEnvironment } from '../src/usecases/registration.ts';

/** One example each of what terminals interpret or display wrongly. */
const hostile = {
  'an escape sequence': 'Bob\u001b]52;c;Y3VybCBldmlsfHNo\u0007',
  'a line break': 'Bob\nown_FAKE  Root  root@example.com  on  operator',
  'a carriage return': 'Bob\rRoot',
  'a tab': 'Bob\tRoot',
  'a C1 control': 'Bob\u009b2J',
  DEL: 'Bob\u007f\u007f\u007fRoot',
  'a line separator': 'Bob\u2028Root',
  'a bidi override': 'Bob\u202etooR',
  'a bidi isolate': 'Bob\u2067Root',
};
const obeyed = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function assertHarmless(text: string, what: string): void {
  assert.doesNotMatch(text.replaceAll('\n', ''), obeyed, `${what}: ${JSON.stringify(text)}`);
}

suite('The console refuses unprintable characters in', () => {
  let local: LocalConsole;
  let client: ConsoleClient;
  before(async () => {
    local = await startLocalConsole();
    await local.store.owners.change(local.owner.id, (owner) => ({ ...owner, role: 'operator' }));
    client = await local.signIn();
  });
  after(() => local.stop());

  const preferences = { emailAlerts: false, quietHours: null, retentionDays: null };
  const fields: Record<string, (text: string) => ReturnType<ConsoleClient['post']>> = {
    'the name of the owner': (name) => client.put('/api/preferences', { name, ...preferences }),
    'the name of another owner': (name) => client.post('/api/operator/owners', { name, email: null }),
    'the name of a device': (name) => client.post('/api/devices', { name }),
    'the label of a key': (label) =>
      client.post('/api/keys', { type: 'internal_service', requireSignature: false, label }),
    'the label of a browser': (label) => client.post('/api/push-targets', { label, subscription: {} }),
    'the name of a passkey': (name) =>
      client.post('/api/passkeys', { name, credential: { id: 'x', rawId: 'x', type: 'public-key', response: {} } }),
  };
  for (const [field, send] of Object.entries(fields)) {
    test(field, async () => {
      for (const [what, text] of Object.entries(hostile)) {
        const { status, body } = await send(text);
        assert.equal(status, 400, `${what}: ${JSON.stringify(body)}`);
        assert.match((body as unknown as ConsoleError).error, /control characters/, what);
      }
    });
  }
});

suite('The command line', () => {
  let installation: Installation;
  before(async () => {
    installation = await Installation.create();
    await installation.json('owner', 'create', '--name', 'Ann');
  });
  after(() => installation.remove());

  test('refuses unprintable characters in names and labels', async () => {
    const commands: [...string[]][] = [
      ['owner', 'create', '--name'],
      ['device', 'create', '--name'],
      ['key', 'create', '--label'],
      ['push', 'add', '--provider', 'fcm', '--token', 'x'.repeat(30), '--label'],
    ];
    for (const command of commands) {
      for (const [what, text] of Object.entries(hostile)) {
        const { exitCode, stderr } = await installation.run([...command, text]);
        assert.equal(exitCode, 2, `${command.join(' ')}: ${what}`);
        assert.match(stderr, /control characters/);
        assertHarmless(stderr, what);
      }
    }
  });

  test('shows values that an earlier version accepted without interpreting them, row by row', async () => {
    const store = await openStore({ dataDir: installation.dataDir, masterKey: null }, 'existing');
    const [ann] = await store.owners.list();
    assert.ok(ann);
    const environment = systemEnvironment;
    const names = Object.values(hostile);
    let bob = '';
    for (const name of names) {
      const owner = await createOwner(store, environment, { name, email: null, emailAlerts: false });
      bob = owner.id;
      await createDevice(store, environment, { ownerId: ann.id, name, topicPrefix: 'tocsin', urls: [] });
      const key = { type: 'internal_service', allowedDomains: [], requireSignature: false, rateLimit: null } as const;
      await createKey(store, environment, { ownerId: ann.id, label: name, expiresAt: null, value: null, ...key });
      const target = { provider: 'fcm', token: name, createdAt: 1, disabledAt: null } as const;
      await store.pushTargets.create({ id: `psh_${owner.id}`, ownerId: ann.id, label: name, ...target });
      const content = sampleContent({ title: name, body: name, source: name, data: { [name]: name } });
      const id = `01930000-0000-7000-8000-${owner.createdAt.toString(16).slice(-4).padStart(12, '0')}`;
      await store.notifications.save({ id, ownerId: owner.id, createdAt: 1, content });
    }
    const device = (await store.devices.list(ann.id)).at(-1)?.id as string;
    await store.close();

    /** Commands, with the number of lines that they print; null: any. */
    const commands: [string[], number | null][] = [
      [['owner', 'list'], names.length + 2],
      [['owner', 'show', bob], 4],
      [['owner', 'set', bob, '--role', 'operator'], 2],
      [['key', 'list', '--owner', ann.id], names.length + 1],
      [['device', 'list', '--owner', ann.id], names.length + 1],
      [['device', 'pause', device], 2],
      [['push', 'list', '--owner', ann.id], names.length + 1],
      [['inbox', 'list', '--owner', bob], null],
      [['delivery', 'list'], null],
      [['owner', 'sign-in'], null],
      [['owner', 'test-email', bob], null],
      [['owner', 'export', bob], null],
      [['owner', 'export', bob, '--output', `${installation.dataDir}/export`], 1],
      [['doctor'], null],
    ];
    for (const [command, lines] of commands) {
      const what = command.join(' ');
      const { stdout, stderr } = await installation.run(command);
      assertHarmless(stdout, what);
      assertHarmless(stderr, what);
      assert.notEqual(stdout + stderr, '');
      if (lines !== null) assert.equal(stdout.trimEnd().split('\n').length, lines, `${what}:\n${stdout}`);
      const asJson = await installation.run([...command, '--json']);
      assertHarmless(asJson.stdout, `${what} --json`);
      assertHarmless(asJson.stderr, `${what} --json`);
    }
    const owners = await installation.json<{ name: string }[]>('owner', 'list');
    assert.deepEqual(
      owners
        .slice(1)
        .map(({ name }) => name)
        .sort(),
      [...names].sort(),
      'JSON keeps the value',
    );
  });
});
