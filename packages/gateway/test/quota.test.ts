// The daily quota of an owner: what counts, the response to the caller, and that it holds across restarts and processes.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';

interface Answer {
  status: number;
  retryAfter: string | null;
  code: string | undefined;
  isReplayed: boolean;
}

async function notify(api: string, key: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(api, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const { code } = (await response.json()) as { code?: string };
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    code,
    isReplayed: response.headers.has('idempotency-replayed'),
  };
}

const storedToday = async (installation: Installation, { line }: GatewayProcess): Promise<unknown> =>
  (await installation.json<{ storedToday: unknown }>('owner', 'show', line.firstRun?.owner as string)).storedToday;

suite('The daily quota', () => {
  test('refuses with 429 and Retry-After, survives a restart, and is shown by owner show', async (t) => {
    const installation = await install(t, { TOCSIN_QUOTA_ROWS_PER_DAY: '3' });
    const gateway = await installation.serve();
    const { api, key } = gateway;
    for (let count = 0; count < 3; count += 1) assert.equal((await notify(api, key, { title: 'x' })).status, 200);
    const refused = await notify(api, key, { title: 'x' });
    assert.deepEqual([refused.status, refused.code], [429, 'quota_exceeded']);
    assert.match(refused.retryAfter ?? '', /^[1-9]\d*$/);
    assert.ok(Number(refused.retryAfter) <= 86_400, String(refused.retryAfter));
    assert.equal(await gateway.stop(), 0);

    const again = await installation.serve();
    const atOnce = await Promise.all(Array.from({ length: 20 }, () => notify(again.api, key, { title: 'x' })));
    assert.deepEqual([...new Set(atOnce.map(({ status }) => status))], [429]);
    assert.equal(await again.stop(), 0);
    const shown = (await storedToday(installation, gateway)) as { rows: number; quota: object };
    assert.equal(shown.rows, 3);
    assert.deepEqual(shown.quota, { rows: 3, bytes: 1_073_741_824 });
  });

  test('counts bytes of bodies, and neither refused requests nor replays of an Idempotency-Key', async (t) => {
    const installation = await install(t, { TOCSIN_QUOTA_BYTES_PER_DAY: '1000' });
    const gateway = await installation.serve();
    const { api, key } = gateway;
    const large = { title: 'x'.repeat(600) };
    const once = { 'Idempotency-Key': 'once' };
    assert.equal((await notify(api, key, {})).status, 400);
    assert.equal((await notify(api, key, large, once)).status, 200);
    for (let count = 0; count < 3; count += 1) {
      const { status, isReplayed } = await notify(api, key, large, once);
      assert.deepEqual([status, isReplayed], [200, true]);
    }
    assert.equal((await notify(api, key, large)).code, 'quota_exceeded');
    // A request that was accepted once gets the stored response.
    assert.equal((await notify(api, key, large, once)).status, 200);
    assert.equal((await notify(api, key, { title: 'small' })).status, 200);
    await gateway.stop();
    const bytes = JSON.stringify(large).length + JSON.stringify({ title: 'small' }).length;
    assert.deepEqual(await storedToday(installation, gateway), {
      rows: 2,
      bytes,
      quota: { rows: 1_000_000, bytes: 1000 },
    });
  });

  test('is shared by several processes within about a second', async (t) => {
    const installation = await install(t, { TOCSIN_QUOTA_ROWS_PER_DAY: '20', TOCSIN_WORKERS: '2' });
    const { api, key } = await installation.serve();
    let accepted = 0;
    await eventually(
      'every process refuses',
      20_000,
      async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => notify(api, key, { title: 'x' })));
        const stored = answers.filter(({ status }) => status === 200).length;
        accepted += stored;
        return stored;
      },
      (stored) => stored === 0,
    );
    // Each process alone would never accept more than the quota.
    assert.ok(accepted >= 20 && accepted <= 40, `${accepted} were accepted`);
  });

  test('is disabled by 0', async (t) => {
    const installation = await install(t, { TOCSIN_QUOTA_ROWS_PER_DAY: '0', TOCSIN_QUOTA_BYTES_PER_DAY: '0' });
    const { api, key } = await installation.serve();
    for (let count = 0; count < 20; count += 1) assert.equal((await notify(api, key, { title: 'x' })).status, 200);
  });
});
