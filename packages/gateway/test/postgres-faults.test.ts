// A database server that hangs, restarts, closes connections or refuses them: every call ends in time, no acknowledged
// write is lost, and no restart is needed afterwards.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { findFreePort } from '@tocsin/test-support/mosquitto.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { readAll } from '@tocsin/test-support/stored-notifications.ts';
import { Client } from 'pg';
import { Problem } from '../src/core/problem.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { openStore } from '../src/store/open-store.ts';
import {
  EncryptionKeyMissing,
  type Notification,
  type SaveOptions,
  type Store,
  StoreUnavailable,
} from '../src/usecases/ports/index.ts';

/** The documented limit is 5 s; the rest is slack for a busy machine. */
const answerWithinMs = 6000;
const ownerId = 'own_ann';
const newId = createUuidV7Source(Date.now, randomUUID);

const obstacle = postgresObstacle();

suite('A PostgreSQL server', () => {
  let server: Postgres;
  const dataDir = mkdtempSync(join(tmpdir(), 'tocsin-test-'));
  before(async () => {
    if (obstacle === null) server = await Postgres.start();
  });
  after(async () => {
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** The first one creates the owner. */
  async function openStores<Count extends number>(t: TestContext, count: Count, url?: string): Promise<Store[]> {
    const databaseUrl = url ?? (await server.createDatabase());
    const folder = join(dataDir, new URL(databaseUrl).pathname.slice(1));
    const stores: Store[] = [];
    t.after(async () => {
      await Promise.all(stores.map((store) => store.close()));
    });
    for (let index = 0; index < count; index += 1) {
      stores.push(await openStore({ dataDir: folder, databaseUrl, masterKey: null }, 'create'));
    }
    await stores[0]?.owners.createFirst(plainOwner(ownerId, 1));
    return stores;
  }

  test('that hangs delays every call at most to its deadline, and works again when it continues', async (t) => {
    if (!canRun(t, obstacle)) return;
    const [store] = (await openStores(t, 1)) as [Store];
    await store.notifications.save(notification('before'));
    server.freeze();
    t.after(() => server.thaw());
    const frozenAt = performance.now();
    const attempts: Promise<{ ms: number; error: unknown }>[] = [];
    // Longer than any deadline, so that some calls start after the first have timed out.
    while (performance.now() - frozenAt < 7000) {
      attempts.push(
        timed(store.notifications.save(notification('meanwhile'))),
        timed(store.keys.find('unknown')),
        timed(store.owners.update(plainOwner(ownerId, 1))),
      );
      await delay(100);
    }
    const answers = await Promise.all(attempts);
    for (const { ms, error } of answers) {
      assert.ok(error instanceof StoreUnavailable, String(error));
      assert.ok(ms < answerWithinMs, `a call took ${ms} ms`);
    }
    t.diagnostic(
      `${answers.length} calls ended within ${Math.max(...answers.map(({ ms }) => ms)).toFixed()} ms at most`,
    );
    server.thaw();
    await eventually(
      'writes succeed again',
      5000,
      () => succeeds(store.notifications.save(notification('after'))),
      Boolean,
    );
    assert.equal(await store.keys.find('unknown'), null);
    const titles = (await readAll(store, ownerId)).notifications.map(({ content }) => content.title);
    assert.ok(titles.includes('before') && titles.includes('after'));
  });

  test('that hangs does not block the shutdown', async (t) => {
    if (!canRun(t, obstacle)) return;
    const socketsBefore = countSockets();
    const [store] = (await openStores(t, 1)) as [Store];
    store.changes.listen(() => undefined);
    await store.check();
    assert.ok(countSockets() > socketsBefore);
    server.freeze();
    t.after(() => server.thaw());
    const saving = timed(store.notifications.save(notification('x')));
    const { ms, error } = await timed(store.close());
    assert.equal(error, null);
    assert.ok(ms < 3000, `close took ${ms} ms`);
    assert.ok((await saving).error instanceof StoreUnavailable);
    // A remaining connection would keep the process alive.
    await eventually('every connection is closed', 1000, countSockets, (count) => count <= socketsBefore);
  });

  test('that is restarted, or crashes and is started again, is reconnected to, with change notifications', async (t) => {
    if (!canRun(t, obstacle)) return;
    const [store, other] = (await openStores(t, 2)) as [Store, Store];
    let notified = 0;
    other.changes.listen(() => {
      notified += 1;
    });
    await eventually(
      'it listens',
      5000,
      () => notified,
      (count) => count > 0,
    );
    for (const end of [() => server.halt(), () => server.kill()]) {
      await store.notifications.save(notification('before'));
      await end();
      const { error, ms } = await timed(store.notifications.save(notification('without a server')));
      assert.ok(error instanceof StoreUnavailable, String(error));
      assert.ok(ms < answerWithinMs);
      const notifiedBefore = notified;
      await server.run();
      await eventually(
        'writes succeed again',
        5000,
        () => succeeds(store.notifications.save(notification('after'))),
        Boolean,
      );
      await eventually(
        'it is notified of changes that it may have missed',
        10_000,
        () => notified,
        (count) => count > notifiedBefore,
      );
      await assertNotified(other, () => store.owners.update(plainOwner(ownerId, 1)));
    }
    const { notifications, damaged } = await readAll(store, ownerId);
    assert.deepEqual(damaged, []);
    assert.equal(notifications.filter(({ content }) => content.title !== 'without a server').length, 4);
  });

  test('that closes every connection under load loses no acknowledged write', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    const [store] = (await openStores(t, 1, databaseUrl)) as [Store];
    const acknowledged = new Set<string>();
    let failed = 0;
    let isOver = false;
    const callers = Array.from({ length: 32 }, async () => {
      while (!isOver) {
        const each = notification('load');
        const { error } = await timed(store.notifications.save(each));
        if (error === null) acknowledged.add(each.id);
        else {
          assert.ok(error instanceof StoreUnavailable, String(error));
          failed += 1;
          // An error may be returned at once, and 32 callers without a pause leave no time to reconnect.
          await setImmediate();
        }
      }
    });
    t.after(() => {
      isOver = true;
    });
    // A disconnect between two batches fails no caller, so there are more until one does.
    for (let cut = 0; cut < 5 || (failed === 0 && cut < 50); cut += 1) {
      const before = acknowledged.size;
      await eventually(
        'it stores',
        5000,
        () => acknowledged.size,
        (count) => count > before + 50,
      );
      await server.query(
        server.urlOf('postgres'),
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${new URL(databaseUrl).pathname.slice(1)}'`,
      );
    }
    await eventually(
      'some callers get errors',
      5000,
      () => failed,
      (count) => count > 0,
    );
    isOver = true;
    await Promise.all(callers);
    // The last disconnect may be noticed only now.
    await eventually(
      'writes succeed again',
      5000,
      () => succeeds(store.notifications.save(notification('after'))),
      Boolean,
    );
    const stored = new Set((await readAll(store, ownerId)).notifications.map(({ id }) => id));
    const lost = [...acknowledged].filter((id) => !stored.has(id));
    assert.deepEqual(lost, []);
    t.diagnostic(`${acknowledged.size} acknowledged, ${failed} refused`);
  });

  test('notifies one process of the changes of another at once', async (t) => {
    if (!canRun(t, obstacle)) return;
    const [store, other] = (await openStores(t, 2)) as [Store, Store];
    await new Promise<void>((resolve) => other.changes.listen(resolve));
    const ms = await assertNotified(other, () => store.owners.update(plainOwner(ownerId, 1)));
    t.diagnostic(`notified after ${ms.toFixed(1)} ms`);
    let notified = 0;
    other.changes.listen(() => {
      notified += 1;
    });
    await store.check();
    await store.notifications.save(notification('x'));
    await assertNotified(other, () => store.owners.delete(ownerId));
    assert.equal(notified, 1, 'changes that no cache depends on are not notified');
  });

  test('gets one schema from ten processes that start at once', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    const stores = await Promise.all(
      Array.from({ length: 10 }, () =>
        openStore({ dataDir: join(dataDir, 'ten'), databaseUrl, masterKey: null }, 'create'),
      ),
    );
    t.after(() => Promise.all(stores.map((store) => store.close())));
    for (const store of stores) assert.deepEqual(await store.maintenance.verify(), []);
    const applied = await server.query<{ name: string }>(databaseUrl, 'SELECT name FROM schema_migrations');
    assert.equal(new Set(applied.map(({ name }) => name)).size, applied.length);
    assert.ok(applied.length > 0);
  });

  test('whose schema a newer version extends keeps serving the older one', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    const [store] = (await openStores(t, 1, databaseUrl)) as [Store];
    // The statements are prepared by now on the only connection.
    for (let count = 0; count < 7; count += 1) assert.equal((await store.owners.list()).length, 1);
    await server.query(databaseUrl, "ALTER TABLE owners ADD COLUMN later text NOT NULL DEFAULT 'x'");
    assert.equal((await store.owners.list()).length, 1);
    await store.notifications.save(notification('x'));
  });

  test('gives an idempotency key to one of several simultaneous callers, in any process, without a deadlock', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    const stores = await openStores(t, 2, databaseUrl);
    const now = Date.now();
    const claimed = new Map<string, string[]>();
    const saves = stores.flatMap((store, node) =>
      Array.from({ length: 500 }, async (_, index) => {
        // Neighbours want the same key, and each process iterates in another order.
        const position = Math.floor(index / 2) % 50;
        const keyDigest = `key_${node === 0 ? position : 49 - position}`;
        const each = { ...notification('x'), createdAt: now };
        const saved = await store.notifications.save(each, claim(keyDigest, now + 60_000));
        if (saved === 'saved') claimed.set(keyDigest, [...(claimed.get(keyDigest) ?? []), each.id]);
      }),
    );
    await Promise.all(saves);
    assert.equal(claimed.size, 50);
    for (const [keyDigest, ids] of claimed) {
      assert.equal(ids.length, 1, `${keyDigest} was given to ${ids.length}`);
      assert.equal((await stores[0]?.idempotency.find(ownerId, keyDigest, now))?.notificationId, ids[0]);
    }
    const { notifications } = await readAll(stores[0] as Store, ownerId);
    assert.deepEqual(notifications.map(({ id }) => id).sort(), [...claimed.values()].flat().sort());
    assert.deepEqual(await server.errorsOf(databaseUrl), []);
    // A key that has expired can be used again.
    const later = { ...notification('later'), createdAt: now + 60_000 };
    assert.equal(await stores[1]?.notifications.save(later, claim('key_1', now + 120_000)), 'saved');
    assert.equal((await stores[0]?.idempotency.find(ownerId, 'key_1', now + 60_000))?.notificationId, later.id);
  });

  test('keeps no data of an owner who is deleted at the same moment', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    const [store] = (await openStores(t, 1, databaseUrl)) as [Store];
    await store.notifications.save(notification('knows the key of the owner'));
    const other = new Client({ connectionString: databaseUrl });
    await other.connect();
    t.after(() => other.end());
    await other.query('BEGIN');
    await other.query('DELETE FROM owners WHERE id = $1', [ownerId]);
    const saving = timed(store.notifications.save(notification('meanwhile'), claim('key_1', Date.now() + 60_000)));
    await eventually(
      'it waits for the lock of the other transaction',
      4000,
      () => server.query(databaseUrl, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
      (rows) => rows.length > 0,
    );
    await other.query('COMMIT');
    assert.ok((await saving).error instanceof EncryptionKeyMissing);
    assert.equal(await store.idempotency.find(ownerId, 'key_1', Date.now()), null);
  });

  test('locks idempotency keys in one order in all transactions, so that there is no deadlock', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    const [store] = (await openStores(t, 1, databaseUrl)) as [Store];
    await store.notifications.save(notification('knows the key of the owner'));
    const other = new Client({ connectionString: databaseUrl });
    await other.connect();
    t.after(() => other.end());
    const take = (keyDigest: string) =>
      other.query(
        `INSERT INTO idempotency (owner_id, key_digest, fingerprint, notification_id, lease_until, expires_at)
         VALUES ($1, $2, 'f', 'other', 0, 9999999999999)`,
        [ownerId, keyDigest],
      );
    await other.query('BEGIN');
    await take('key_5');
    const saves = ['key_7', 'key_5', 'key_3'].map((keyDigest) =>
      store.notifications.save(notification(keyDigest), claim(keyDigest, 9_999_999_999_999)),
    );
    await eventually(
      'they wait for the lock of the other transaction',
      4000,
      () => server.query(databaseUrl, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"),
      (rows) => rows.length > 0,
    );
    await take('key_7');
    await other.query('COMMIT');
    assert.deepEqual(await Promise.all(saves), ['duplicate', 'duplicate', 'saved']);
    assert.deepEqual(await server.errorsOf(databaseUrl), []);
  });

  for (const { title, url, wanted } of [
    {
      title: 'no server listens',
      url: async () => `postgres://tocsin:S3cretOfOurs@127.0.0.1:${await findFreePort()}/tocsin`,
      wanted: /The PostgreSQL server at 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/,
    },
    {
      title: 'the password is wrong',
      url: async () => server.urlOf('postgres', 'S3cretOfOurs'),
      wanted: /rejected user "tocsin": password authentication failed/,
    },
    {
      title: 'no password is given',
      url: async () => server.urlOf('postgres', ''),
      wanted: /requires a password: set it in TOCSIN_DATABASE_URL or PGPASSWORD/,
    },
    {
      title: 'the database does not exist',
      url: async () => server.urlOf('nowhere'),
      wanted: /has no database "nowhere"\. Create it: createdb -h 127\.0\.0\.1 -p \d+ -U tocsin nowhere/,
    },
    {
      title: 'the encoding is not UTF-8',
      url: async () => {
        await server.query(
          server.urlOf('postgres'),
          "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
        );
        return server.urlOf('latin');
      },
      wanted: /"latin" at 127\.0\.0\.1:\d+ has the encoding LATIN1; Tocsin needs UTF8/,
    },
    {
      title: 'the user may not create tables',
      url: async () => {
        const url = new URL(await server.createDatabase());
        await server.query(url.href, "CREATE ROLE guest LOGIN PASSWORD 'S3cretOfOurs'");
        url.username = 'guest';
        url.password = 'S3cretOfOurs';
        return url.href;
      },
      wanted: /"tocsin_\d+" at 127\.0\.0\.1:\d+ cannot be opened: permission denied for schema public\. The user in/,
    },
    {
      title: 'TLS is required but not available',
      url: async () => `${server.urlOf('postgres')}?sslmode=require`,
      wanted: /127\.0\.0\.1:\d+ does not support TLS, which the URL requires.*sslmode/,
    },
    {
      title: 'a certificate file is missing',
      url: async () => `${server.urlOf('postgres')}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`,
      wanted: /The URL of the database is invalid: .*\/nowhere\/ca\.pem/,
    },
  ]) {
    test(`reports what to do if ${title}, and never the password`, async (t) => {
      if (!canRun(t, obstacle)) return;
      const databaseUrl = await url();
      await assert.rejects(openStore({ dataDir, databaseUrl, masterKey: null }, 'create'), (error) => {
        assert.ok(error instanceof Problem, String(error));
        assert.match(error.message, wanted);
        const { password } = new URL(databaseUrl);
        for (const text of [error.message, error.stack ?? '']) assert.ok(password === '' || !text.includes(password));
        return true;
      });
    });
  }

  test('without our tables is refused by commands that need an existing store', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    await assert.rejects(
      openStore({ dataDir, databaseUrl, masterKey: null }, 'existing'),
      /"tocsin_\d+" at 127\.0\.0\.1:\d+ holds no Tocsin data/,
    );
  });

  test('with synchronous_commit off by default still commits synchronously for us', async (t) => {
    if (!canRun(t, obstacle)) return;
    const databaseUrl = await server.createDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    await server.query(databaseUrl, `ALTER DATABASE ${name} SET synchronous_commit = off`);
    const [store] = (await openStores(t, 1, databaseUrl)) as [Store];
    // Compares the flushed WAL position right after the commit returned with the insert position. The server also
    // writes WAL for its own purposes, so occasionally the insert position is ahead.
    let durable = 0;
    for (let count = 0; count < 20; count += 1) {
      await store.notifications.save(notification('x'));
      const [at] = await server.query<{ isDurable: boolean }>(
        databaseUrl,
        'SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() AS "isDurable"',
      );
      if (at?.isDurable === true) durable += 1;
    }
    assert.ok(durable >= 15, `${durable} of 20 were on disk`);
  });
});

function countSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}

function claim(keyDigest: string, expiresAt: number): SaveOptions {
  return { dispatch: null, leaseUntil: expiresAt, idempotency: { keyDigest, fingerprint: 'f', expiresAt } };
}

function notification(title: string): Notification {
  return { id: newId(), ownerId, createdAt: Date.now(), content: sampleContent({ title, body: 'Body' }) };
}

async function timed(work: Promise<unknown>): Promise<{ ms: number; error: unknown }> {
  const startedAt = performance.now();
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  return { ms: performance.now() - startedAt, error };
}

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return (await timed(work)).error === null;
}

/** Returns the time between the durable change and its notification. */
async function assertNotified(store: Store, change: () => Promise<unknown>): Promise<number> {
  const notified = new Promise<number>((resolve) => store.changes.listen(() => resolve(performance.now())));
  await change();
  const changedAt = performance.now();
  const ms = (await notified) - changedAt;
  assert.ok(ms < 1000, `it took ${ms} ms`);
  return ms;
}
