// Real clients of ntfy, Gotify and Apprise send to Tocsin. NTFY, SHOUTRRR and APPRISE name their programs.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { afterEach, beforeEach, suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { type LocalGateway, startLocalGateway } from '@tocsin/test-support/local-gateway.ts';
import { canRun, obstacleIn } from '@tocsin/test-support/requires.ts';
import { createHook } from '../src/usecases/hooks.ts';
import { systemEnvironment } from '../src/usecases/registration.ts';

const run = promisify(execFile);
const programs = { ntfy: 'NTFY', shoutrrr: 'SHOUTRRR', apprise: 'APPRISE' } as const;

let gateway: LocalGateway;
let host: string;
let hook: string;
let token: string;

beforeEach(async () => {
  gateway = await startLocalGateway();
  const { store, ownerId } = gateway;
  ({ token } = await createHook(store, systemEnvironment, { ownerId, name: 'Hook' }));
  host = new URL(gateway.api).host;
  hook = `${host}/in/${token}`;
});
afterEach(async () => {
  await gateway.stop();
  assert.deepEqual(gateway.failures, []);
});

async function stored() {
  const { notifications } = await gateway.store.notifications.list(gateway.ownerId, { limit: 10, after: '' });
  return notifications.map(({ content: { title, body, severity, source } }) => ({ title, body, severity, source }));
}

/** No package of the system has these programs, so the test is skipped unless one is named. */
function testWith(name: keyof typeof programs, title: string, use: (command: string) => Promise<void>): void {
  const variable = programs[name];
  const command = process.env[variable];
  test(`${name} ${title}`, {
    skip: command === undefined && `${variable} names no program`,
  }, async (t: TestContext) => {
    if (command !== undefined && canRun(t, obstacleIn(command, ['--help']))) await use(command);
  });
}

suite('Real clients', () => {
  const options = ['--title', 'Größe', '--priority', 'high', '--tags', 'warning,nas'];
  const expected = { title: '⚠️ Größe', body: 'Disk full', severity: 'warning', source: 'backups' };

  testWith('ntfy', 'publishes with an access token, a password, and below a hook', async (ntfy) => {
    const publish = (...args: string[]) => run(ntfy, ['publish', ...options, ...args, 'Disk full']);
    await publish('--token', gateway.key, `${gateway.api}backups`);
    await publish('--user', `phil:${gateway.key}`, `${gateway.api}backups`);
    const { stdout } = await publish(`http://${hook}/backups`);
    const { title, topic, message } = JSON.parse(stdout) as Record<string, string>;
    assert.deepEqual([title, topic, message], ['Größe', 'backups', 'Disk full']);
    await publish(`http://${hook}/ntfy/backups`);
    assert.deepEqual(await stored(), [expected, expected, expected, expected]);
  });

  testWith('ntfy', 'reports a wrong key and a delay', async (ntfy) => {
    const wrong = run(ntfy, ['publish', '--token', 'svc_wrong-wrong-wrong', `${gateway.api}backups`, 'x']);
    await assert.rejects(wrong, /Invalid API key/);
    const later = run(ntfy, ['publish', '--token', gateway.key, '--delay', '10m', `${gateway.api}backups`, 'x']);
    await assert.rejects(later, /scheduled messages are not supported/);
    assert.deepEqual(await stored(), []);
  });

  testWith('shoutrrr', 'sends by ntfy, and by Gotify below a hook', async (shoutrrr) => {
    const send = (url: string) => run(shoutrrr, ['send', '--url', url, '--message', 'Disk full', '--title', 'Backup']);
    await send(`ntfy://:${gateway.key}@${host}/backups?scheme=http&priority=5`);
    // It checks the form of a token itself. Below a hook any token will do.
    await send(`gotify://${hook}/AbCdEfGhIjKlMnO?disabletls=yes&priority=8`);
    assert.deepEqual(await stored(), [
      { title: 'Backup', body: 'Disk full', severity: 'critical', source: 'backups' },
      { title: 'Backup', body: 'Disk full', severity: 'error', source: 'Hook' },
    ]);
  });

  testWith('apprise', 'sends by ntfy, Gotify and its own API', async (apprise) => {
    const send = (url: string) => run(apprise, ['-t', 'Backup', '-b', 'Disk full', '-n', 'failure', url]);
    await send(`ntfy://${gateway.key}@${host}/backups`);
    await send(`ntfy://phil:${gateway.key}@${host}/backups`);
    await send(`gotify://${host}/${gateway.key}`);
    await send(`gotify://${hook}/AbCdEfGhIjKlMnO`);
    await send(`apprise://${host}/${token}`);
    assert.deepEqual(await stored(), [
      { title: 'Backup', body: 'Disk full', severity: null, source: 'backups' },
      { title: 'Backup', body: 'Disk full', severity: null, source: 'backups' },
      { title: 'Backup', body: 'Disk full', severity: 'warning', source: 'third_party' },
      { title: 'Backup', body: 'Disk full', severity: 'warning', source: 'Hook' },
      { title: 'Backup', body: 'Disk full', severity: 'error', source: 'Hook' },
    ]);
  });
});
