// The rate limit of a key is shared by all processes that share a store.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Connections } from '@tocsin/test-support/connections.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { untilBothResponded } from '@tocsin/test-support/worker-processes.ts';

const limit = 50;
const requests = 120;

test('Two workers on SQLite accept exactly as many requests of a key as its limit', async (t) => {
  const installation = await install(t, { TOCSIN_WORKERS: '2', TOCSIN_LOG_LEVEL: 'debug' });
  const gateway = await installation.serve();
  const key = await limitedKey(installation);
  assert.equal(await accepted([gateway.api], key), limit);
  await untilBothResponded(gateway, 1, async () =>
    assert.equal((await notify({ api: gateway.api, key }, { title: 'x' }, { Connection: 'close' })).status, 429),
  );
});

test('The headers report the state of a key across all workers, and when to retry', async (t) => {
  const installation = await install(t, { TOCSIN_WORKERS: '2', TOCSIN_RATE_LIMIT: '5/h' });
  const target = await installation.serve();
  const standings: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    // Each on its own connection, so that the workers alternate.
    const { status, headers } = await notify(target, { title: 'x' }, { Connection: 'close' });
    assert.equal(status, 200);
    assert.equal(headers.get('ratelimit-policy'), '"key";q=5;w=3600');
    const [, left, seconds] = /^"key";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? [];
    standings.push(Number(left));
    assert.ok(Number(seconds) > 3500 && Number(seconds) <= 3600, `${seconds}`);
  }
  assert.deepEqual(standings, [4, 3, 2, 1, 0]);
  for (let count = 0; count < 4; count += 1) {
    const { status, headers } = await notify(target, { title: 'x' }, { Connection: 'close' });
    assert.equal(status, 429);
    assert.match(headers.get('ratelimit') ?? '', /^"key";r=0;t=\d+$/);
    const wait = Number(headers.get('retry-after'));
    assert.ok(wait > 3500 && wait <= 3600, `${wait}`);
  }
});

test('The count starts again when the window is over', async (t) => {
  const installation = await install(t, { TOCSIN_WORKERS: '2', TOCSIN_RATE_LIMIT: '2/s' });
  const target = await installation.serve();
  const first = performance.now();
  const statuses = async () =>
    (await Promise.all(Array.from({ length: 6 }, () => notify(target, { title: 'x' })))).map(({ status }) => status);
  const before = await statuses();
  if (performance.now() - first < 1000) assert.equal(before.filter((status) => status === 200).length, 2);
  await eventually('requests are accepted again', 5000, statuses, (after) => after.includes(200));
});

suite('On PostgreSQL', () => {
  const obstacle = postgresObstacle();
  let server: Postgres | undefined;
  before(async () => {
    if (obstacle === null) server = await Postgres.start();
  });
  after(() => server?.stop());

  test('two nodes accept exactly as many requests of a key as its limit', async (t) => {
    if (!canRun(t, obstacle) || server === undefined) return;
    const installation = await install(t, { TOCSIN_DATABASE_URL: await server.createDatabase() });
    const [one, other] = [await installation.serve(), await installation.serve()];
    const key = await limitedKey(installation);
    assert.equal(await accepted([one.api, other.api], key), limit);
  });

  test('a database that hangs delays no request because of its limit', async (t) => {
    if (!canRun(t, obstacle) || server === undefined) return;
    const installation = await install(t, {
      TOCSIN_DATABASE_URL: await server.createDatabase(),
      TOCSIN_RATE_LIMIT: '1000/m',
    });
    const gateway = await installation.serve();
    assert.equal((await notify(gateway, { title: 'before' })).status, 200);
    server.freeze();
    try {
      // Invalid on purpose, so that only the key and its limit are checked.
      const since = performance.now();
      const { status, headers } = await notify(gateway, { sendPush: true });
      const ms = performance.now() - since;
      assert.equal(status, 400);
      assert.match(headers.get('ratelimit') ?? '', /^"key";r=999;/, 'counted by this process');
      assert.ok(ms < 2500, `${ms} ms`);
      await eventually(
        'the log reports it',
        5000,
        () => gateway.log,
        (log) => log.includes('rate limits fell back to per-process counting'),
      );
    } finally {
      server.thaw();
    }
    await eventually(
      'counts are shared again',
      10_000,
      () => notify(gateway, { sendPush: true }),
      () => gateway.log.includes('rate limits are shared again'),
    );
  });
});

async function limitedKey(installation: Installation): Promise<string> {
  const { key } = await installation.json<{ key: string }>('key', 'create', '--rate-limit', `${limit}/m`);
  return key;
}

/** Sends all at once over several connections to each address; returns how many were accepted. */
async function accepted(apis: string[], key: string): Promise<number> {
  const callers = apis.map((api) => new Connections({ api, key }, 8));
  const answers = await Promise.all(
    Array.from({ length: requests }, (_, index) =>
      (callers[index % callers.length] as Connections).notify({ title: `notification ${index}` }),
    ),
  );
  for (const caller of callers) caller.close();
  const statuses = answers.map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([200, 429]));
  return statuses.filter((status) => status === 200).length;
}
