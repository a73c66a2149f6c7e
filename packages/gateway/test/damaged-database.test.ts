// A database whose pages or write-ahead log were damaged: /readyz matches what callers see, and the log reports it.
import assert from 'node:assert/strict';
import { closeSync, cpSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess, Installation } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { notify } from '@tocsin/test-support/requests.ts';

const damagedLine = 'the database is damaged';
const walLine = 'the write-ahead log is damaged';
const startMs = 30_000;

/** Changes bytes in the middle of a file, each to another value. */
function damage(file: string, offset: number, length: number): void {
  const descriptor = openSync(file, 'r+');
  const bytes = Buffer.alloc(length);
  readSync(descriptor, bytes, 0, length, offset);
  // Neither random nor regular, so that a failure can be reproduced.
  for (let index = 0; index < length; index += 1) bytes[index] = (bytes[index] as number) ^ (1 + ((index * 89) % 255));
  writeSync(descriptor, bytes, 0, length, offset);
  closeSync(descriptor);
}

async function readyStatus({ line }: GatewayProcess): Promise<number> {
  return (await fetch(new URL('/readyz', line.console))).status;
}

suite('A database with a damaged page', () => {
  test('is ready exactly while requests are authenticated and their notifications stored', {
    timeout: 300_000,
  }, async (t) => {
    const original = await install(t);
    const first = await original.serve();
    const { key } = first;
    for (let count = 0; count < 60; count += 1) {
      const body = { title: `before ${count}`, body: 'x'.repeat(500) };
      await notify({ api: first.api, key }, body, { 'Idempotency-Key': `before-${count}` });
    }
    assert.equal(await first.stop(), 0);
    const file = join(original.dataDir, 'tocsin.db');
    const db = new DatabaseSync(file, { readOnly: true });
    const names = [
      'notifications',
      'dispatches',
      'owners',
      'data_keys',
      'api_keys',
      'api_keys_digest',
      'changes',
      'meta',
    ];
    const roots = db
      .prepare(`SELECT name, rootpage FROM sqlite_schema WHERE name IN (${names.map(() => '?').join()})`)
      .all(...names) as { name: string; rootpage: number }[];
    db.close();
    const pageBytes = 4096;
    const seen = { refused: 0, ready: 0, notReady: 0 };
    const places = roots.map(({ name, rootpage }) => ({ name, offset: (rootpage - 1) * pageBytes }));
    // The last pages hold the newest notifications; the cells follow the header of a page.
    const last = statSync(file).size / pageBytes;
    for (const page of [last, last - 1, last - 2])
      places.push({ name: `page ${page}`, offset: (page - 1) * pageBytes });
    for (const { name, offset } of places) {
      const copy = await install(t);
      cpSync(original.dataDir, copy.dataDir, { recursive: true });
      damage(join(copy.dataDir, 'tocsin.db'), offset, 200);
      const gateway = copy.beginToServe();
      try {
        await gateway.ready();
      } catch {
        seen.refused += 1;
        assert.match(gateway.log, /damaged|malformed/, name);
        continue;
      }
      const answers = [];
      for (let count = 0; count < 3; count += 1) {
        answers.push(await notify({ api: gateway.api, key }, { title: `after ${count}` }));
      }
      const isServed = answers.every(({ status, body }) => status === 200 && body.stored);
      const isDenied = answers.every(({ status, body }) => status !== 200 || !body.stored);
      assert.ok(isServed || isDenied, `${name}: ${JSON.stringify(answers.map(({ body }) => body))}`);
      const wanted = isServed ? 200 : 503;
      await eventually(
        `${name}: ${wanted}`,
        startMs,
        () => readyStatus(gateway),
        (status) => status === wanted,
      );
      // It stays so without requests.
      assert.equal(await readyStatus(gateway), wanted, name);
      await eventually(
        `${name} is logged`,
        startMs,
        () => gateway.log,
        (log) => log.includes(damagedLine),
      );
      seen[isServed ? 'ready' : 'notReady'] += 1;
      await gateway.kill();
    }
    t.diagnostic(`${places.length} pages: ${JSON.stringify(seen)}`);
    assert.ok(seen.notReady > 0 && seen.ready > 0, JSON.stringify(seen));
  });

  test('that is repaired is ready again, without any request', async (t) => {
    const installation = await install(t);
    const gateway = await installation.serve();
    const other = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { timeout: 5000 });
    t.after(() => other.close());
    const owner = gateway.line.firstRun?.owner;
    other.exec(`CREATE TRIGGER broken BEFORE INSERT ON notifications WHEN NEW.owner_id = '${owner}'
      BEGIN SELECT RAISE(ABORT, 'broken'); END`);
    assert.notEqual((await notify({ api: gateway.api, key: gateway.key }, { title: 'x' })).body.stored, true);
    await eventually(
      'it is not ready',
      startMs,
      () => readyStatus(gateway),
      (status) => status === 503,
    );
    other.exec('DROP TRIGGER broken');
    await eventually(
      'it is ready',
      startMs,
      () => readyStatus(gateway),
      (status) => status === 200,
    );
  });

  test('that fails for one owner stays ready for the others', async (t) => {
    const installation = await install(t);
    const gateway = await installation.serve();
    await installation.json('owner', 'create', '--name', 'Other');
    const other = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { timeout: 5000 });
    t.after(() => other.close());
    other.exec(`CREATE TRIGGER broken BEFORE INSERT ON notifications WHEN NEW.owner_id = '${gateway.line.firstRun?.owner}'
      BEGIN SELECT RAISE(ABORT, 'broken'); END`);
    assert.notEqual((await notify({ api: gateway.api, key: gateway.key }, { title: 'x' })).body.stored, true);
    assert.equal(await readyStatus(gateway), 200);
  });

  test('is not ready either if workers serve the requests', async (t) => {
    const installation = await install(t, { TOCSIN_WORKERS: '2' });
    const gateway = await installation.serve();
    const other = new DatabaseSync(join(installation.dataDir, 'tocsin.db'), { timeout: 5000 });
    t.after(() => other.close());
    other.exec(`CREATE TRIGGER broken BEFORE INSERT ON notifications BEGIN SELECT RAISE(ABORT, 'broken'); END`);
    assert.notEqual((await notify({ api: gateway.api, key: gateway.key }, { title: 'x' })).body.stored, true);
    await eventually(
      'it is not ready',
      startMs,
      () => readyStatus(gateway),
      (status) => status === 503,
    );
    other.exec('DROP TRIGGER broken');
    await eventually(
      'it is ready',
      startMs,
      () => readyStatus(gateway),
      (status) => status === 200,
    );
  });
});

suite('A write-ahead log', () => {
  async function storeAndKill(installation: Installation): Promise<string> {
    const gateway = await installation.serve();
    for (let count = 0; count < 60; count += 1) {
      const { body } = await notify({ api: gateway.api, key: gateway.key }, { title: `n${count}` });
      assert.equal(body.stored, true);
    }
    await gateway.kill();
    return join(installation.dataDir, 'tocsin.db-wal');
  }

  const count = async (installation: Installation): Promise<number> =>
    (await installation.json<unknown[]>('inbox', 'list', '--limit', '100')).length;

  test('that was damaged is reported with what SQLite discarded of it', async (t) => {
    // A checkpoint during the load leaves old frames in the second half of the log, where damage loses nothing.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const installation = await install(t);
      const wal = await storeAndKill(installation);
      damage(wal, Math.floor(statSync(wal).size / 2), 64);
      const gateway = await installation.serve();
      const left = await count(installation);
      if (left === 60) continue;
      assert.ok(left > 0 && left < 60, `${left} of 60`);
      const line = gateway.log.split('\n').find((each) => each.includes(walLine));
      assert.ok(line, gateway.log);
      const { level, lostCommits } = JSON.parse(line) as { level: number; lostCommits: number };
      assert.equal(level, 50);
      assert.ok(lostCommits >= 60 - left, `${lostCommits} commits, ${60 - left} notifications`);
      return;
    }
    assert.fail('the damage never hit a frame in use');
  });

  test('that remains after a crash is complete, and is checkpointed into the database at the next start', async (t) => {
    const installation = await install(t);
    const wal = await storeAndKill(installation);
    const before = statSync(wal).size;
    const gateway = await installation.serve();
    assert.doesNotMatch(gateway.log, /write-ahead/);
    await eventually(
      'the log is empty, except for later writes',
      startMs,
      () => statSync(wal).size,
      (size) => size < before / 4,
    );
    assert.equal(await count(installation), 60);
  });

  test('that is lost after the first run loses neither the owner nor the key', async (t) => {
    const installation = await install(t);
    const first = await installation.serve();
    const { key } = first;
    await first.kill();
    rmSync(join(installation.dataDir, 'tocsin.db-wal'));
    const gateway = await installation.serve();
    // Until it is known to have been shown, the first run shows the same key again.
    assert.ok([undefined, key].includes(gateway.line.firstRun?.key));
    assert.equal((await notify({ api: gateway.api, key }, { title: 'x' })).body.stored, true);
  });
});
