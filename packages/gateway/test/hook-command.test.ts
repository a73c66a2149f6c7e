// Hooks on the command line, against a running server.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';

suite('tocsin hook', () => {
  let installation: Installation;
  let server: GatewayProcess;
  let api: string;

  before(async () => {
    installation = await Installation.create();
    server = await installation.serve();
    ({ api } = server);
  });
  after(async () => {
    await server.stop();
    await installation.remove();
  });

  async function run(...args: string[]) {
    const { exitCode, stdout, stderr } = await installation.run(['hook', ...args, '--json']);
    assert.equal(exitCode, 0, stderr);
    return JSON.parse(stdout);
  }

  async function failing(exitCode: number, ...args: string[]): Promise<string> {
    const result = await installation.run(['hook', ...args]);
    assert.equal(result.exitCode, exitCode, `${args.join(' ')}: ${result.stdout}${result.stderr}`);
    assert.doesNotMatch(result.stderr, /\n {4}at /);
    return result.stderr;
  }

  const post = async (token: string, body: object) =>
    (await fetch(`${api}in/${token}`, { method: 'POST', body: JSON.stringify(body) })).status;

  /** Other processes notice a change within a second. */
  const becomes = (token: string, status: number) =>
    eventually(
      `the hook answers with ${status}`,
      5000,
      () => post(token, { title: crypto.randomUUID() }),
      (found) => found === status,
    );

  test('creates a hook whose address takes events at once, and shows the token only then', async () => {
    const created = await installation.run(['hook', 'create', '--name', 'Build server', '--json'], {
      TOCSIN_API_URL: 'https://notify.example.com',
    });
    const { id, url, token, preset, state } = JSON.parse(created.stdout);
    assert.match(token, /^hook_[0-9A-Za-z]{38}$/);
    assert.equal(url, `https://notify.example.com/in/${token}`);
    assert.deepEqual([preset, state], ['auto', 'enabled']);
    await becomes(token, 200);
    const shown = await installation.run(['hook', 'show', id]);
    assert.match(shown.stdout, /Build server/);
    assert.ok(!shown.stdout.includes(token));
    const [listed] = (await run('list')).filter((hook: { id: string }) => hook.id === id);
    assert.equal(listed.name, 'Build server');
    assert.ok(!JSON.stringify(listed).includes('digest'));
  });

  test('disables, enables and deletes', async () => {
    const { id, token } = await run('create', '--name', 'Monitor');
    await becomes(token, 200);
    assert.equal((await run('disable', id)).state, 'disabled');
    await becomes(token, 404);
    assert.equal((await run('enable', id)).state, 'enabled');
    await becomes(token, 200);
    await run('delete', id);
    await becomes(token, 404);
    assert.match(await failing(1, 'show', id), /There is no hook/);
  });

  test('rotates the address, with and without an overlap', async () => {
    const { id, token } = await run('create', '--name', 'Monitor');
    await becomes(token, 200);
    const second = await run('rotate', id);
    await becomes(second.token, 200);
    assert.equal(await post(token, { title: 'still accepted' }), 200);
    const third = await run('rotate', id, '--overlap', '0');
    await becomes(third.token, 200);
    await becomes(token, 404);
    await becomes(second.token, 404);
  });

  test('changes what it is given, and nothing else', async () => {
    const { id } = await run('create', '--name', 'Monitor', '--severity', 'error', '--rate-limit', '10/m');
    const changed = await run('set', id, '--name', 'Probe', '--severity', 'none', '--without-channel', 'email');
    assert.deepEqual(
      [changed.name, changed.severity, changed.rateLimit, changed.withoutChannels],
      ['Probe', null, '10/m', ['email']],
    );
  });

  test('refuses a signing secret for a sender whose signatures it does not check', async () => {
    const file = join(installation.dataDir, '..', 'secret.txt');
    await writeFile(file, 'a secret\n');
    for (const preset of ['auto', 'generic']) {
      const options = ['--name', 'Signed', '--preset', preset, '--secret-file', file];
      assert.match(await failing(2, 'create', ...options), /--preset must name a sender that signs/);
    }
  });

  test('previews what a request would become', async () => {
    const { id } = await run('create', '--name', 'Monitor');
    const file = join(installation.dataDir, '..', 'body.json');
    await writeFile(file, '{"title":"Disk full","level":"warning","description":"98 %"}');
    const preview = await run('preview', id, '--file', file, '--header', 'Content-Type: application/json');
    assert.deepEqual(preview, {
      preset: 'generic',
      title: 'Disk full',
      body: '98 %',
      source: 'Monitor',
      category: 'info',
      severity: 'warning',
    });
    assert.match(await failing(1, 'preview', id, '--file', '/nowhere'), /cannot be read/);
  });

  test('says what is wrong with an option', async () => {
    assert.match(await failing(2, 'create'), /--name is required/);
    assert.match(await failing(2, 'create', '--name', ' '), /--name/);
    assert.match(await failing(2, 'create', '--name', 'x', '--preset', 'unknown'), /--preset must be one of auto/);
    assert.match(await failing(2, 'create', '--name', 'x', '--severity', 'loud'), /--severity must be one of/);
    assert.match(await failing(2, 'create', '--name', 'x', '--rate-limit', 'many'), /100\/m/);
    assert.match(await failing(2, 'create', '--name', 'x', '--repeat-window', 'long'), /--repeat-window/);
    assert.match(await failing(2, 'create', '--name', 'x', '--without-channel', 'pigeon'), /has no channel 'pigeon'/);
    assert.match(await failing(1, 'delete', 'hk_none'), /There is no hook hk_none/);
  });
});
