// The command line as an operator uses it, against real files.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { Installation, launcher } from '@tocsin/test-support/gateway-process.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun, obstacleIn } from '@tocsin/test-support/requires.ts';

const run = promisify(execFile);

suite('The command line', () => {
  let installation: Installation;
  before(async () => {
    installation = await Installation.create();
  });
  after(() => installation.remove());

  /** Runs a command that must fail, and returns its output. */
  async function failing(exitCode: number, ...args: string[]): Promise<string> {
    const result = await installation.run(args);
    assert.equal(result.exitCode, exitCode, `${args.join(' ')}: ${result.stdout}${result.stderr}`);
    assert.equal(result.stdout, '');
    assert.doesNotMatch(result.stderr, /\n {4}at /, 'the output has no stack trace');
    return result.stderr;
  }

  test('prints help at every level', async () => {
    const top = await installation.run(['--help']);
    assert.equal(top.exitCode, 0);
    for (const noun of ['serve', 'owner', 'key', 'device', 'inbox', 'doctor']) {
      assert.match(top.stdout, new RegExp(`^  ${noun} `, 'm'));
      const help = await installation.run([noun, '--help']);
      assert.equal(help.exitCode, 0);
      assert.match(help.stdout, /\w/);
    }
    const create = await installation.run(['key', 'create', '--help']);
    for (const option of [
      '--owner',
      '--type',
      '--domain',
      '--label',
      '--expires',
      '--require-signature',
      '--value',
      '--json',
    ]) {
      assert.ok(create.stdout.includes(option), option);
    }
    assert.match((await installation.run(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
  });

  test('reports wrong usage with exit code 2 and one line that says what to do', async () => {
    assert.match(await failing(2, 'frobnicate'), /Unknown command 'frobnicate'.*--help/);
    assert.match(await failing(2, 'owner', 'frobnicate'), /Known: create, list/);
    assert.match(await failing(2, 'owner', 'create'), /--name is required/);
    assert.match(await failing(2, 'owner', 'create', '--nam', 'x'), /--nam/);
    assert.match(await failing(2, 'owner', 'show'), /ID is missing/);
    assert.match(await failing(2, 'owner', 'list', 'x'), /Unexpected argument 'x'/);
    assert.match(await failing(2, 'owner', 'create', '--name', 'x', '--email', 'a@b, c@d'), /one plain address/);
    assert.match(await failing(2, 'owner', 'create', '--name', 'x', '--email-alerts', 'maybe'), /on or off/);
    assert.match(await failing(2, 'owner', 'create', '--name', 'x', '--email-alerts', 'on'), /--email/);
    assert.match(await failing(2, 'key', 'create', '--type', 'admin'), /public_client/);
    assert.match(await failing(2, 'key', 'create', '--domain', 'a b'), /--domain a b must be a domain/);
    assert.match(await failing(2, 'key', 'create', '--domain', 'foo'), /--domain foo must be a domain/);
    assert.match(await failing(2, 'key', 'create', '--expires', 'yesterday'), /must be in the future/);
    assert.match(await failing(2, 'key', 'create', '--rate-limit', 'many'), /100\/m/);
    assert.match(await failing(2, 'key', 'create', '--value', 'secret'), /svc_/);
    assert.match(await failing(2, 'inbox', 'list', '--limit', '0'), /1 to 1000/);
    assert.match(await failing(2, 'inbox', 'list', '--before', 'x'), /id of a notification/);
  });

  test('reports a failure with exit code 1 and names what is missing', async () => {
    assert.match(await failing(1, 'key', 'create'), /no Tocsin data in .*TOCSIN_DATA_DIR/);
    assert.deepEqual(await readdir(installation.dataDir), [], 'a read-only command creates nothing');
    const { id } = await installation.json('owner', 'create', '--name', 'Passing');
    await installation.json('owner', 'delete', id as string);
    assert.match(await failing(1, 'key', 'create'), /no owner yet.*tocsin owner create/);
    assert.match(await failing(1, 'owner', 'show', 'own_none'), /no owner own_none/);
    assert.match(await failing(1, 'key', 'revoke', 'key_none'), /no key key_none/);
    assert.match(await failing(1, 'device', 'pause', 'dev_none'), /no device dev_none/);
  });

  test('creates, shows, changes and deletes owners', async () => {
    const ann = await installation.json('owner', 'create', '--name', 'Ann', '--email', 'ann@example.com');
    assert.match(ann.id as string, /^own_[0-9A-Za-z]{16}$/);
    assert.equal((ann as Record<string, unknown>).emailAlerts, true);
    const shown = await installation.json<Record<string, unknown>>('owner', 'show', ann.id as string);
    const { storedToday, ...profile } = shown;
    assert.deepEqual(profile, ann);
    assert.partialDeepStrictEqual(storedToday, { rows: 0, bytes: 0 });
    const changed = await installation.json(
      'owner',
      'set',
      ann.id as string,
      '--email-alerts',
      'off',
      '--name',
      'Ann B.',
    );
    assert.deepEqual(changed, { ...ann, name: 'Ann B.', emailAlerts: false });
    const withoutEmail = await installation.json<Record<string, unknown>>(
      'owner',
      'set',
      ann.id as string,
      '--email',
      '',
    );
    assert.equal(withoutEmail.email, null);
    const setEmail = (address: string) => installation.run(['owner', 'set', ann.id as string, '--email', address]);
    assert.match((await setEmail('ann@example.com')).stdout, /ann@example\.com +on /, 'a first address turns email on');
    await installation.json('owner', 'set', ann.id as string, '--email-alerts', 'off');
    const { stdout: replaced } = await setEmail('new@example.com');
    assert.match(replaced, /new@example\.com +off /, "another address keeps the owner's choice");
    assert.match(replaced, /Email is off .*--email-alerts on/);
    assert.match((await installation.run(['owner', 'list'])).stdout, /Ann B\./);
    assert.deepEqual(await installation.json('owner', 'delete', ann.id as string), { id: ann.id, deleted: true });
    assert.deepEqual(await installation.json('owner', 'list'), []);
  });

  test('creates keys with every option, shows the value once, lists and revokes them', async () => {
    const owner = await installation.json('owner', 'create', '--name', 'Bob');
    const options = [
      '--type',
      'internal_service',
      '--domain',
      'Example.com',
      '--domain',
      '*.example.org',
      '--label',
      'CI',
    ];
    const more = ['--expires', '30d', '--require-signature', '--rate-limit', '5/s'];
    const { key, ...made } = await installation.json<Record<string, unknown>>('key', 'create', ...options, ...more);
    assert.match(key as string, /^svc_[0-9A-Za-z]{38}$/);
    const { id, createdAt, expiresAt, ...rest } = made;
    assert.match(id as string, /^key_/);
    assert.equal(Date.parse(expiresAt as string) - Date.parse(createdAt as string) <= 30 * 86_400_000, true);
    assert.deepEqual(rest, {
      owner: owner.id,
      type: 'internal_service',
      state: 'valid',
      label: 'CI',
      domains: ['example.com', '*.example.org'],
      requireSignature: true,
      rateLimit: '5/s',
      revokedAt: null,
    });
    assert.deepEqual(await installation.json('key', 'list'), [made]);
    assert.doesNotMatch((await installation.run(['key', 'list'])).stdout, new RegExp(key as string));
    const revoked = await installation.json('key', 'revoke', id as string);
    assert.equal(revoked.state, 'revoked');
    const file = join(installation.dataDir, 'key');
    await writeFile(file, 'svc_imported-from-a-file\n');
    await installation.json('key', 'create', '--value-file', file);
    assert.match(await failing(1, 'key', 'create', '--value', 'svc_imported-from-a-file'), /exists already/);
    const piped = await installation.run(['key', 'create', '--value-file', '-'], {}, 'svc_imported-from-a-pipe\n');
    assert.equal(piped.exitCode, 0, piped.stderr);
    assert.doesNotMatch(piped.stdout, /svc_/);
    assert.match(await failing(1, 'key', 'create', '--value', 'svc_imported-from-a-pipe'), /exists already/);
    assert.match(await failing(1, 'key', 'create', '--value-file', `${file}-2`), /no such file/);
    assert.match(await failing(2, 'key', 'create', '--value-file', file, '--value', 'svc_x'), /not both/);
    assert.match(await failing(1, 'key', 'create', '--value-file', installation.dataDir), /cannot be read/);
    const endless = await failing(1, 'key', 'create', '--value-file', '/dev/zero');
    assert.match(endless, /^.*--value-file: \/dev\/zero is larger than 64 KB, so it is not a value\.\n$/);
    const long = await installation.run(['key', 'create', '--value-file', '-'], {}, 'svc_'.repeat(20_000));
    assert.equal(long.exitCode, 1);
    assert.match(long.stderr, /standard input is larger than 64 KB/);
    await writeFile(file, `svc_imported-with-blanks${'\n'.repeat(60_000)}`);
    await installation.json('key', 'create', '--value-file', file);
    const imported = await installation.json('key', 'create', '--value', 'svc_imported-from-before');
    assert.equal(imported.key, 'svc_imported-from-before');
    assert.match(await failing(1, 'key', 'create', '--value', 'svc_imported-from-before'), /exists already/);
  });

  test('creates devices with their credentials, and changes their state', async () => {
    const made = await installation.json<Record<string, unknown>>('device', 'create', '--name', 'Phone');
    const { mqtt, ...device } = made;
    const { username, password, topic } = mqtt as Record<string, string>;
    assert.equal(username, device.id);
    assert.match(password as string, /^[0-9A-Za-z]{32}$/);
    assert.equal(topic, `tocsin/${device.owner}/${device.id}/notifications`);
    assert.equal(device.topic, topic);
    assert.deepEqual(await installation.json('device', 'list'), [device]);
    for (const [verb, change] of [
      ['pause', { paused: true }],
      ['resume', { paused: false }],
      ['deactivate', { state: 'inactive' }],
      ['activate', { state: 'active' }],
    ] as const) {
      assert.deepEqual(await installation.json('device', verb, device.id as string), { ...device, ...change });
    }
    await installation.json('device', 'delete', device.id as string);
    assert.deepEqual(await installation.json('device', 'list'), []);
  });

  test('shows people the topic of a device when it is created and in the list, with the configured prefix', async () => {
    const prefix = { TOCSIN_MQTT_TOPIC_PREFIX: 'house/alerts' };
    const { stdout: created } = await installation.run(['device', 'create', '--name', 'Display'], prefix);
    const topic = /^ {2}topic {5}(house\/alerts\/own_\w{16}\/dev_\w{16}\/notifications)$/m.exec(created)?.[1];
    assert.ok(topic, created);
    const { stdout: listed } = await installation.run(['device', 'list'], prefix);
    assert.match(listed, /^ID +NAME +STATE +PAUSED +CREATED +TOPIC *$/m);
    assert.ok(listed.includes(topic), listed);
    await installation.json('device', 'delete', topic.split('/')[3] as string);
  });

  test('requires --owner once there are several owners', async () => {
    const second = await installation.json('owner', 'create', '--name', 'Second');
    assert.match(await failing(2, 'inbox', 'list'), /several owners[\s\S]*--owner own_\w+ {2}Second/);
    assert.deepEqual(await installation.json('inbox', 'list', '--owner', second.id as string), []);
    await installation.json('owner', 'delete', second.id as string);
  });

  test('doctor reports what works and what does not, and fails if something is broken', async () => {
    const well = await installation.json<{ ok: boolean; findings: { check: string; state: string }[] }>(
      'doctor',
      '--deep',
    );
    assert.equal(well.ok, true);
    assert.equal(well.findings.find(({ check }) => check === 'store')?.state, 'ok');
    const misspelt = await installation.run(['doctor'], { TOCSIN_RETENTION_DAY: '3' });
    assert.match(misspelt.stdout, /warning +configuration: .*TOCSIN_RETENTION_DAY/);
    const broken = await installation.run(['doctor'], { TOCSIN_PORT: 'x' });
    assert.equal(broken.exitCode, 1);
    assert.match(broken.stdout, /FAILED +configuration:[\s\S]*TOCSIN_PORT must be a port/);
    const wrongKey = await installation.run(['doctor'], { TOCSIN_MASTER_KEY: 'a'.repeat(64) });
    assert.equal(wrongKey.exitCode, 1);
    assert.match(wrongKey.stdout, /FAILED +store: The master key is not the one/);
  });

  test('reports all configuration errors at once', async () => {
    const { exitCode, stderr } = await installation.run(['owner', 'list'], {
      TOCSIN_PORT: '70000',
      TOCSIN_LOG_LEVEL: 'loud',
      TOCSIN_RATE_LIMIT: 'lots',
      TOCSIN_TRUSTED_PROXIES: 'nowhere',
      TOCSIN_MASTER_KEY: 'short',
    });
    assert.equal(exitCode, 1);
    for (const name of [
      'TOCSIN_PORT',
      'TOCSIN_LOG_LEVEL',
      'TOCSIN_RATE_LIMIT',
      'TOCSIN_TRUSTED_PROXIES',
      'TOCSIN_MASTER_KEY',
    ]) {
      assert.ok(stderr.includes(`- ${name} must be`), name);
    }
    assert.ok(!stderr.includes('short'), 'a secret is not printed');
  });
});

/** The greeting of a start on a terminal, to its last line. */
const welcome = /Ctrl-C stops it.*(?:within a day|API key)\.\r?\n/s;

suite('The first run', () => {
  test('prints one line with a curl command that works when pasted, and the inbox shows what it sent', async () => {
    const installation = await Installation.create();
    try {
      const gateway = await installation.serve();
      const { firstRun } = gateway.line;
      assert.ok(firstRun);
      const { stdout } = await run('sh', ['-c', `${firstRun.curl} -s`]);
      const answer = JSON.parse(stdout) as { ok: boolean; stored: boolean; id: string };
      assert.equal(answer.ok, true);
      assert.equal(answer.stored, true);
      const [newest] = await installation.json<{ id: string; title: string }[]>('inbox', 'list');
      assert.equal(newest?.id, answer.id);
      assert.equal(newest?.title, 'Hello from Tocsin');
      assert.equal((await stat(join(installation.dataDir, 'master.key'))).mode & 0o777, 0o600);
      assert.equal(await gateway.stop(), 0);
      const again = await installation.serve();
      assert.equal(again.line.firstRun, undefined);
      assert.equal(again.line.inbox, new URL('/', again.line.console.replace('127.0.0.1', 'localhost')).href);
      assert.match(await (await fetch(again.line.inbox)).text(), /<title>Tocsin/);
      assert.equal((await notify({ api: again.api, key: firstRun.key }, { title: 'x' })).body.stored, true);
    } finally {
      await installation.remove();
    }
  });

  test('every start on a terminal prints the addresses of the inbox and the API, and how to sign in', async (t) => {
    if (!canRun(t, obstacleIn('script', ['-qec', 'true', '/dev/null']))) return;
    const installation = await Installation.create();
    const start = () => installation.screenOf(['serve'], welcome);
    try {
      const first = await start();
      assert.match(first, /Inbox {2}http:\/\/localhost:\d+\/\s+API {4}http:\/\/127\.0\.0\.1:\d+\//);
      assert.match(first, /see it arrive in your inbox: http:\/\/localhost:\d+\/sign-in#/);
      const second = await start();
      assert.match(second, /Inbox {2}http:\/\/localhost:\d+\/\s+API {4}http:\/\/127\.0\.0\.1:\d+\//);
      assert.match(second, /npx tocsin owner sign-in/);
    } finally {
      await installation.remove();
    }
  });

  test('on a terminal prints a mosquitto_sub line that receives what the curl line sends, both as pasted', async (t) => {
    if (!canRun(t, obstacleIn('script', ['-qec', 'true', '/dev/null']))) return;
    if (!canRun(t, obstacleIn('sh', ['-c', 'command -v mosquitto_sub']))) return;
    const installation = await Installation.create();
    t.after(() => installation.remove());
    const screen = await installation.screenOf(['serve'], welcome, async (shown) => {
      await run('sh', ['-c', `${lineOf(shown, 'curl')} -s`]);
      const { stdout } = await run('sh', ['-c', `${lineOf(shown, 'mosquitto_sub')} -C 1 -W 20`]);
      const [, topic, message] = /^(\S+) (.*)\n$/s.exec(stdout) ?? [];
      const [device] = await installation.json<{ topic: string }[]>('device', 'list');
      assert.equal(topic, device?.topic);
      assert.equal(JSON.parse(message ?? '').title, 'Hello from Tocsin');
    });
    assert.match(screen, /MQTT {3}mqtt:\/\/127\.0\.0\.1:\d+/);
    assert.match(screen, /API key in the curl command, the device password and the sign-in link are shown only once\./);
  });

  test('on a terminal prints the settings of the first device if it can only be reached over WebSocket', async (t) => {
    if (!canRun(t, obstacleIn('script', ['-qec', 'true', '/dev/null']))) return;
    const installation = await Installation.create({ TOCSIN_MQTT_PUBLIC_URL: 'wss://inbox.example.com/mqtt' });
    t.after(() => installation.remove());
    const screen = (await installation.screenOf(['serve'], welcome)).replaceAll('\r', '');
    assert.doesNotMatch(screen, /mosquitto_sub/);
    assert.match(
      screen,
      / {2}username {2}dev_\w{16}\n {2}password {2}\w{32}\n {2}topic {5}tocsin\/own_\w{16}\/dev_\w{16}\/notifications\n {2}broker {4}wss:\/\/inbox\.example\.com\/mqtt\n/,
    );
  });

  test('creates nothing when it is turned off', async () => {
    const installation = await Installation.create({ TOCSIN_FIRST_RUN: 'off' });
    try {
      assert.equal((await installation.serve()).line.firstRun, undefined);
      assert.deepEqual(await installation.json('owner', 'list'), []);
    } finally {
      await installation.remove();
    }
  });

  test('uses the configured value for the first key, also from a file', async () => {
    const installation = await Installation.create();
    try {
      const file = join(installation.dataDir, 'first-key');
      await writeFile(file, 'svc_a-key-chosen-beforehand\n');
      const gateway = await installation.serve({ TOCSIN_FIRST_KEY_FILE: file });
      assert.equal(gateway.key, 'svc_a-key-chosen-beforehand');
      assert.equal((await notify(gateway, { title: 'x' })).status, 200);
    } finally {
      await installation.remove();
    }
  });

  test('names the port that is in use and the variable to set, and still shows the first key on the start that works', async () => {
    const installation = await Installation.create();
    const blocker = createServer().listen(0, '127.0.0.1');
    try {
      await once(blocker, 'listening');
      const port = String((blocker.address() as AddressInfo).port);
      for (const variable of ['TOCSIN_PORT', 'TOCSIN_CONSOLE_PORT']) {
        const { exitCode, stderr } = await installation.run(['serve'], { [variable]: port });
        assert.equal(exitCode, 1);
        assert.match(stderr, new RegExp(`Port ${port} is already in use.*${variable}`));
      }
      assert.match((await installation.serve()).key, /^svc_/);
    } finally {
      blocker.close();
      await installation.remove();
    }
  });

  test('exits with one sentence if a provider cannot be set up', async () => {
    const installation = await Installation.create({
      TOCSIN_APNS_KEY: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
      TOCSIN_APNS_KEY_ID: 'ABCDEFGHIJ',
      TOCSIN_APNS_TEAM_ID: 'ABCDEFGHIJ',
      TOCSIN_APNS_TOPIC: 'com.example.app',
    });
    try {
      const { exitCode, stderr } = await installation.run(['serve']);
      assert.equal(exitCode, 1);
      assert.match(stderr, /TOCSIN_APNS_KEY/);
    } finally {
      await installation.remove();
    }
  });

  test('serves health and readiness on the console', async () => {
    const installation = await Installation.create();
    try {
      const gateway = await installation.serve();
      assert.deepEqual(await (await fetch(new URL('/healthz', gateway.line.console))).json(), { ok: true });
      const ready = await fetch(new URL('/readyz', gateway.line.console));
      assert.equal(ready.status, 200);
      assert.partialDeepStrictEqual(await ready.json(), { ok: true, store: 'ok', mqtt: 'ok' });
    } finally {
      await installation.remove();
    }
  });

  test('shuts down cleanly on SIGTERM: requests in flight get a response and are stored, and the exit code is 0', async () => {
    const installation = await Installation.create();
    try {
      const gateway = await installation.serve();
      const requests = Array.from({ length: 50 }, (_, index) => notify(gateway, { title: `${index}` }));
      await requests[0];
      const stopped = gateway.stop();
      const answers = await Promise.allSettled(requests);
      assert.equal(await stopped, 0);
      const stored = await installation.json<{ id: string }[]>('inbox', 'list', '--limit', '1000');
      const ids = new Set(stored.map(({ id }) => id));
      for (const answer of answers) {
        if (answer.status === 'fulfilled') assert.ok(ids.has(answer.value.body.id));
      }
      assert.ok(ids.size >= 1);
    } finally {
      await installation.remove();
    }
  });
});

suite('A log that cannot be written', () => {
  for (const [what, redirection] of [
    ['a full disk', '2>/dev/full'],
    ['a closed stderr', '2>&-'],
  ] as const) {
    test(`(${what}) neither stops the service nor delays its shutdown`, async () => {
      const installation = await Installation.create({ TOCSIN_LOG_LEVEL: 'debug' });
      try {
        const gateway = await installation.serve({}, ['sh', '-c', `exec "$@" ${redirection}`, 'sh']);
        for (let count = 0; count < 5; count += 1)
          assert.equal((await notify(gateway, { title: 'x' })).body.stored, true);
        assert.equal(await gateway.stop(), 0);
      } finally {
        await installation.remove();
      }
    });
  }
});

suite('The launcher', () => {
  test('explains in one line what to do on a Node that is too old, if there is no other', async () => {
    // A copy outside the project, made to believe that it runs on an old Node.
    const folder = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
    try {
      await copyFile(launcher, join(folder, 'tocsin.mjs'));
      await writeFile(join(folder, 'old.cjs'), "Object.defineProperty(process.versions, 'node', { value: '20.1.0' });");
      const failure = await run(process.execPath, ['--require', './old.cjs', 'tocsin.mjs', '--version'], {
        cwd: folder,
      }).then(
        () => assert.fail('it ran'),
        (error: { code: number; stderr: string }) => error,
      );
      assert.equal(failure.code, 1);
      assert.match(failure.stderr, /^Tocsin needs Node 26 or newer .*npm ci.*\n$/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('starts itself again on the Node that npm installed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
    try {
      const preload = join(folder, 'old.cjs');
      await writeFile(preload, "Object.defineProperty(process.versions, 'node', { value: '20.1.0' });");
      const { stdout } = await run(process.execPath, ['--require', preload, launcher, '--version']);
      const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8')) as {
        version: string;
      };
      assert.equal(stdout, `${version}\n`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** The line of a screen that starts with this command, as it would be copied. */
function lineOf(screen: string, command: string): string {
  const line = screen.split(/\r?\n/).find((each) => each.trimStart().startsWith(`${command} `));
  assert.ok(line, `no ${command} line in:\n${screen}`);
  return line.trim();
}
