// A clock that is wrong for one start, or on one node, deletes nothing; with a right clock retention works as usual.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, type TestContext, test } from 'node:test';
import { linkFor, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { fakeClockObstacle, withClockOff } from '@tocsin/test-support/fake-clock.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { Subscriber } from '@tocsin/test-support/mqtt-subscriber.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify, signedHeaders } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { createPostgresFixture, createSqliteFixture, type StoreFixture } from '@tocsin/test-support/store-fixture.ts';
import { rowsOfFile } from '@tocsin/test-support/store-rows.ts';
import { holdMs } from '../src/core/clock-record.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import type { Store } from '../src/usecases/ports/index.ts';
import { startRetention } from '../src/usecases/retention.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const jumpLine = 'the clock jumped';

/** An installation whose clock was right for hours, as after a day of service. */
function trustClock(installation: Installation): void {
  const record = { seenAt: Date.now(), heldMs: holdMs, jumped: null };
  withDatabase(installation, (db) =>
    db
      .prepare("INSERT INTO meta (name, value) VALUES ('clock', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1")
      .run(Buffer.from(JSON.stringify(record))),
  );
}

function withDatabase<T>({ dataDir }: Installation, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, 'tocsin.db'), { timeout: 5000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** Starts it with a wrong clock, or the right one, until a purge has finished. */
async function serveThroughPurge(installation: Installation, environment: Record<string, string>): Promise<string> {
  const { owner, id } = withDatabase(installation, (db) => {
    const [first] = db.prepare('SELECT owner_id AS owner, id FROM notifications ORDER BY id LIMIT 1').all();
    assert.ok(first);
    db.prepare('INSERT INTO inbox_marks (owner_id, notification_id, deleted_at) VALUES (?, ?, 1)').run(
      ...([first.owner, first.id] as [string, string]),
    );
    return first;
  });
  const gateway = await installation.serve(environment);
  // Notifications that owners deleted are purged at the end of each run, whatever the clock says.
  await eventually(
    'the purge has run',
    20_000,
    () =>
      withDatabase(installation, (db) =>
        db.prepare('SELECT 1 FROM notifications WHERE owner_id = ? AND id = ?').all(String(owner), String(id)),
      ),
    (rows) => rows.length === 0,
  );
  assert.equal(await gateway.stop(), 0);
  return gateway.log;
}

const keyTables = ['notifications', 'idempotency', 'sessions', 'one_time_links', 'used_signatures', 'mqtt_sessions'];

function countRows({ dataDir }: Installation): Record<string, number> {
  const rows = rowsOfFile(join(dataDir, 'tocsin.db'));
  return Object.fromEntries(keyTables.map((table) => [table, rows[table]?.length ?? 0]));
}

async function subscribe(gateway: GatewayProcess, device: { id: string; password: string; topic: string }) {
  const port = Number(new URL(String(gateway.line.mqtt)).port);
  return Subscriber.start(port, device.topic, [
    ...['-V', '311', '-c', '-i', 'keeper', '-q', '1', '-u', device.id, '-P', device.password],
  ]);
}

const wrong = ['+100d', '+1d', '-1d', '+1h', '-1h'];
const jumps = ['+100d', '+1d'];

/** One start with a clock that is off by this much, after which doctor finds nothing. */
async function expectNothingDeleted(installation: Installation, by: string): Promise<void> {
  const isJump = jumps.includes(by);
  trustClock(installation);
  const before = countRows(installation);
  const log = await serveThroughPurge(installation, withClockOff(by));
  assert.equal(log.split(jumpLine).length - 1, isJump ? 1 : 0, `${by}: ${log}`);
  const { findings } = JSON.parse((await installation.run(['doctor', '--json'])).stdout) as Findings;
  assert.deepEqual(
    findings.filter(({ check }) => check === 'clock'),
    [],
  );

  // One was deleted by its owner; a sign-in link that ends in minutes, and a signature, may have expired after an hour.
  const kept = countRows(installation);
  assert.deepEqual(
    { ...kept, one_time_links: 0, used_signatures: 0, idempotency: 0 },
    {
      ...before,
      notifications: Number(before.notifications) - 1,
      one_time_links: 0,
      used_signatures: 0,
      idempotency: 0,
    },
  );
  if (isJump) {
    for (const table of ['one_time_links', 'used_signatures', 'idempotency']) {
      assert.equal(kept[table], before[table], table);
    }
  }
}

suite('A start with a wrong clock', () => {
  // A short run tests three offsets on one installation, one start after the other; the jump first, while all rows exist.
  for (const all of isLongRun ? wrong.map((by) => [by]) : [['+100d', '+1h', '-1d']]) {
    test(`off by ${all.join(', ')} deletes nothing, and everything works when the clock is right again`, async (t) => {
      if (!canRun(t, fakeClockObstacle())) return;
      const installation = await install(t);
      const first = await installation.serve();
      const { owner, key, device } = first.line.firstRun as NonNullable<typeof first.line.firstRun>;
      const target = { api: first.api, key };
      const phone = {
        id: device.id,
        password: device.mqtt.password,
        topic: `tocsin/${owner}/${device.id}/notifications`,
      };
      const online = await subscribe(first, phone);
      t.after(() => online.stop());
      const browser = await signInAtFirstRun(first);
      await linkFor(installation, browser.origin, owner);
      const toDelete = all.length + 1;
      for (let count = 0; count < toDelete; count += 1)
        await notify(target, { title: `deleted by its owner ${count}` });
      await eventually(
        'the message was delivered to the device',
        10_000,
        () => online.received.length,
        (count) => count === toDelete,
      );
      await online.stop();
      for (let count = 0; count < 20; count += 1) {
        const answer = await notify(target, { title: `kept ${count}` }, { 'Idempotency-Key': `order-${count}` });
        assert.equal(answer.body.stored, true);
      }
      const body = JSON.stringify({ title: 'signed' });
      assert.equal((await notify(target, { title: 'signed' }, signedHeaders(key, body))).status, 200);
      assert.equal(await first.stop(), 0);
      const before = countRows(installation);
      assert.ok(
        Object.values(before).every((count) => count > 0),
        JSON.stringify(before),
      );

      for (const by of all) await expectNothingDeleted(installation, by);

      const again = await installation.serve();
      t.after(() => again.kill());
      const inbox = await installation.json<{ title: string }[]>('inbox', 'list', '--limit', '100');
      for (let count = 0; count < 20; count += 1) {
        assert.equal(inbox.filter(({ title }) => title === `kept ${count}`).length, 1, `kept ${count}`);
      }
      const session = await fetch(new URL('/api/session', again.line.console), { headers: browser.headers });
      assert.equal(session.status, 200);
      const back = await subscribe(again, phone);
      t.after(() => back.stop());
      await notify({ api: again.api, key }, { title: 'the last' });
      const titles = await eventually(
        'the device gets all its queued messages',
        20_000,
        () => back.received.map(({ payload }) => (JSON.parse(payload) as { title: string }).title),
        (all) => all.includes('the last'),
      );
      assert.deepEqual(titles, [...Array.from({ length: 20 }, (_, count) => `kept ${count}`), 'signed', 'the last']);
    });
  }

  test('is reported by doctor', async (t) => {
    if (!canRun(t, fakeClockObstacle())) return;
    const installation = await install(t);
    await (await installation.serve()).stop();
    trustClock(installation);
    withDatabase(installation, (db) => {
      const record = { seenAt: Date.now() - 100 * dayMs, heldMs: holdMs, jumped: null };
      db.prepare("UPDATE meta SET value = ? WHERE name = 'clock'").run(Buffer.from(JSON.stringify(record)));
    });
    const { findings } = JSON.parse((await installation.run(['doctor', '--json'])).stdout) as Findings;
    const [finding] = findings.filter(({ check }) => check === 'clock');
    assert.equal(finding?.state, 'warning');
    assert.match(finding.message, /^the clock is 100\.0 days ahead of the last time seen, 20\d\d-.*6 hours$/);
  });
});

interface Findings {
  findings: { check: string; state: string; message: string }[];
}

let postgres: Promise<Postgres> | null = null;
after(async () => (await postgres)?.stop());

async function openOf(t: TestContext, { open, remove }: StoreFixture): Promise<Store> {
  const store = await open();
  t.after(async () => {
    await store.close();
    await remove();
  });
  return store;
}

const openers: Record<string, (t: TestContext) => Promise<Store | null>> = {
  SQLite: async (t) => openOf(t, await createSqliteFixture()),
  PostgreSQL: async (t) => {
    if (!canRun(t, postgresObstacle())) return null;
    postgres ??= Postgres.start(['fsync = off']);
    return openOf(t, await createPostgresFixture(await postgres));
  },
};

for (const [name, open] of Object.entries(openers)) {
  test(`On ${name}, after 100 days without power the history is purged when the clock has been right for six hours, and not before`, async (t) => {
    const store = await open(t);
    if (store === null) return;
    t.mock.timers.enable({ apis: ['setInterval'] });
    // The clock of the database server is that of this machine: old rows were stored while its clock was right.
    const start = Date.now();
    const longAgo = start - 100 * dayMs;
    await store.owners.create(plainOwner('own_ann', 1));
    for (const createdAt of [longAgo, start]) {
      const id = createUuidV7Source(() => createdAt, randomUUID)();
      await store.notifications.save({ id, ownerId: 'own_ann', createdAt, content: sampleContent() });
    }
    await store.clock.save({ seenAt: longAgo, heldMs: holdMs, jumped: null });

    let passed = 0;
    const purges: number[] = [];
    const doubts: (string | null)[] = [];
    let onRun = (): void => undefined;
    const end = startRetention({
      store: {
        ...store,
        inbox: {
          ...store.inbox,
          purgeDeleted: async (...args) => store.inbox.purgeDeleted(...args).finally(() => onRun()),
        },
      },
      retentionDays: 90,
      now: () => start + passed,
      monotonicNow: () => passed,
      onPurged: (count) => purges.push(count),
      onFailed: (error) => assert.fail(String(error)),
      onClockDoubt: (doubt) => doubts.push(doubt),
    });
    t.after(end);
    const step = 10 * 60_000;
    const count = async (): Promise<number> =>
      (await store.notifications.list('own_ann', { limit: 9 })).notifications.length;
    await new Promise<void>((resolve) => {
      onRun = resolve;
    });
    while (passed < holdMs) {
      assert.equal(await count(), 2, `after ${passed / hourMs} hours`);
      passed += step;
      const run = Promise.withResolvers<void>();
      onRun = run.resolve;
      t.mock.timers.tick(step);
      await run.promise;
    }
    await eventually('the old notification is purged', 10_000, count, (left) => left === 1);
    await eventually(
      'it is reported',
      10_000,
      () => purges,
      (all) => all.length === 1,
    );
    assert.equal(doubts.length, 2);
    assert.match(String(doubts[0]), /100\.0 days ahead/);
    assert.equal(doubts[1], null);
  });
}

test('On PostgreSQL, a node with a wrong clock deletes nothing, and does not keep the other nodes from purging', async (t) => {
  if (!canRun(t, postgresObstacle())) return;
  if (!canRun(t, fakeClockObstacle())) return;
  const store = await openers.PostgreSQL?.(t);
  assert.ok(store);
  await store.owners.create(plainOwner('own_ann', 1));
  const createdAt = Date.now() - 10 * dayMs;
  const id = createUuidV7Source(() => createdAt, randomUUID)();
  await store.notifications.save({ id, ownerId: 'own_ann', createdAt, content: sampleContent() });
  const record = { seenAt: Date.now(), heldMs: holdMs, jumped: null };
  await store.clock.save(record);
  const doubted = Promise.withResolvers<string | null>();
  const end = startRetention({
    store,
    retentionDays: 90,
    now: () => Date.now() + 100 * dayMs,
    monotonicNow: () => performance.now(),
    onPurged: () => assert.fail('something was deleted'),
    onFailed: (error) => assert.fail(String(error)),
    onClockDoubt: doubted.resolve,
  });
  assert.match(String(await doubted.promise), /100\.0 days ahead of the clock of the database server/);
  await end();
  assert.deepEqual((await store.clock.read()).record, record);
  assert.ok(await store.notifications.find('own_ann', id));
});
