// A first start or a restore that is killed at any moment, and a database that went missing: the next start either has
// everything that was shown to the operator, or refuses with an explanation. It never starts empty without reporting
// it. TOCSIN_TEST_KILLS=200 makes the loops longer still.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ConsoleClient } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type Installation, launcher, type ReadyLine } from '@tocsin/test-support/gateway-process.ts';
import { install } from '@tocsin/test-support/install.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { serveExpectingFailure } from '@tocsin/test-support/refusal-to-start.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { readAll, withStore } from '@tocsin/test-support/stored-notifications.ts';
import { openStore } from '../src/store/open-store.ts';
import { endFirstRun, prepareFirstRun } from '../src/usecases/first-run.ts';
import { systemEnvironment } from '../src/usecases/registration.ts';

const kills = Number(process.env.TOCSIN_TEST_KILLS ?? (isLongRun ? 12 : 2));
const timeout = 120_000 + kills * 20_000;
const mostAttempts = 20;

function start({ environment }: Installation, args: string[]): ChildProcess {
  return spawn(process.execPath, [launcher, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** Kills the process this long after the file appeared, unless it has ended by then; resolves with its output. */
async function killAfter(child: ChildProcess, file: string, ms: number): Promise<string> {
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk;
  });
  const closed = once(child, 'close');
  await hasMade(child, file);
  await Promise.race([delay(ms), closed]);
  child.kill('SIGKILL');
  await closed;
  return printed;
}

/** How long an undisturbed run takes on this machine now, from the creation of the file until it is ready or ends. */
async function timeFrom(child: ChildProcess, file: string): Promise<number> {
  const closed = once(child, 'close');
  const ended = Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), closed]);
  await hasMade(child, file);
  const since = performance.now();
  await ended;
  const ms = performance.now() - since;
  child.kill('SIGKILL');
  await closed;
  return ms;
}

async function hasMade(child: ChildProcess, file: string): Promise<void> {
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await eventually(
    'the file is created, or the process has ended',
    60_000,
    () => existsSync(file) || hasEnded(),
    Boolean,
    1,
  );
}

/** Requirements of an owner after the first run: a working key, one device, and a link that signs in. */
async function assertFirstRunIsWhole(installation: Installation, printedBefore: string): Promise<void> {
  const gateway = await installation.serve();
  const { firstRun } = gateway.line;
  const shown = firstRun ?? (JSON.parse(printedBefore || 'null') as ReadyLine | null)?.firstRun;
  assert.ok(shown, 'the key and the link were never shown');
  assert.equal((await notify({ api: gateway.api, key: shown.key }, { title: 'first' })).body.stored, true);
  await new ConsoleClient(gateway.line.console).useLink(shown.signIn);
  assert.equal(await gateway.stop(), 0);
  const { TOCSIN_DATABASE_URL: databaseUrl = null } = installation.environment;
  const store = await openStore({ dataDir: installation.dataDir, databaseUrl, masterKey: null }, 'existing');
  try {
    const owners = await store.owners.list();
    assert.deepEqual(
      owners.map(({ id }) => id),
      [shown.owner],
    );
    assert.equal((await store.keys.list(shown.owner)).length, 1, 'one key');
    assert.equal((await store.devices.list(shown.owner)).length, 1, 'one device');
    assert.equal(await store.secrets.find('first_run'), null, 'the credentials are not shown again');
  } finally {
    await store.close();
  }
  const drafts = readdirSync(installation.dataDir).filter((name) => /^master\.key\.(\d+|draft)$/.test(name));
  assert.deepEqual(drafts, [], 'no key file remains');
}

test(`A first start that is killed at any of ${kills} moments is completed by the next`, { timeout }, async (t) => {
  const trial = await install(t);
  const databaseOf = ({ dataDir }: Installation): string => join(dataDir, 'tocsin.db');
  const wholeMs = await timeFrom(start(trial, ['serve']), databaseOf(trial));
  let unfinished = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const installation = await install(t);
    const child = start(installation, ['serve']);
    const printed = await killAfter(child, databaseOf(installation), wholeMs * ((1.1 * kill) / kills));
    if (printed === '') unfinished += 1;
    await assertFirstRunIsWhole(installation, printed);
    await installation.remove();
  }
  t.diagnostic(`${unfinished} of ${kills} kills came before the start had printed anything`);
});

test('A first run that ends before any of its steps is completed by the next, with the same key and password', async (t) => {
  const options = { firstKey: null, topicPrefix: 'tocsin', urls: [], consoleUrl: 'http://localhost' };
  let steps = 0;
  for (let isCut = true; isCut; steps += 1) {
    const { dataDir } = await install(t);
    await withStore(dataDir, async (store) => {
      let left = steps;
      const killed = new Error('killed');
      const interrupted = <T extends object>(target: T): T =>
        new Proxy(target, {
          get: (_, name) => {
            const value = Reflect.get(target, name) as unknown;
            if (typeof value === 'object' && value !== null) return interrupted(value);
            return left-- > 0 ? value : () => Promise.reject(killed);
          },
        });
      const before = await prepareFirstRun(interrupted(store), systemEnvironment, options).catch((error) => {
        if (error !== killed) throw error;
        return null;
      });
      isCut = before === null;
      const first = await prepareFirstRun(store, systemEnvironment, options);
      const again = await prepareFirstRun(store, systemEnvironment, options);
      assert.ok(first && again);
      for (const other of [again, before ?? again]) {
        assert.equal(other.key.value, first.key.value);
        assert.deepEqual(other.device.mqtt, first.device.mqtt);
      }
      await endFirstRun(store);
      assert.equal(await prepareFirstRun(store, systemEnvironment, options), null);
      const owners = await store.owners.list();
      assert.equal(owners.length, 1);
      assert.equal((await store.keys.list(first.ownerId)).length, 1);
      assert.equal((await store.devices.list(first.ownerId)).length, 1);
    });
  }
  assert.ok(steps > 6, `there were only ${steps} steps`);
});

test('A first start on PostgreSQL that is killed is completed by the next', { timeout }, async (t) => {
  if (!canRun(t, postgresObstacle())) return;
  const postgres = await Postgres.start();
  t.after(() => postgres.stop());
  const database = async () => ({ TOCSIN_DATABASE_URL: await postgres.createDatabase() });
  const keyOf = ({ dataDir }: Installation): string => join(dataDir, 'master.key');
  const trial = await install(t, await database());
  const wholeMs = await timeFrom(start(trial, ['serve']), keyOf(trial));
  for (const share of isLongRun ? [0, 0.25, 0.5, 0.75, 1] : [0, 0.5, 1]) {
    const installation = await install(t, await database());
    const printed = await killAfter(start(installation, ['serve']), keyOf(installation), wholeMs * share);
    await assertFirstRunIsWhole(installation, printed);
    await installation.remove();
  }
});

test('Temporary files of a master key that remain after a kill are removed at the start', async (t) => {
  const installation = await install(t);
  for (const name of ['master.key.4711', 'master.key.draft']) writeFileSync(join(installation.dataDir, name), 'key');
  const kept = ['master.key.old-2026-01-01', 'master.key.4711.mine'];
  for (const name of kept) writeFileSync(join(installation.dataDir, name), 'a file of the operator');
  const gateway = await installation.serve();
  const names = readdirSync(installation.dataDir).filter(
    (name) => name.startsWith('master.key.') && !name.endsWith('.lock'),
  );
  assert.deepEqual(names.sort(), kept.sort());
  assert.equal(await gateway.stop(), 0);
});

const sinceBackup = 'Since the backup';

/** Makes a backup of some size, with the key that it needs. */
async function prepareBackup(t: TestContext) {
  const source = await install(t);
  const gateway = await source.serve();
  const { key } = gateway;
  const sent = Array.from({ length: 300 }, (_, count) =>
    notify(gateway, { title: `${count}`, body: 'x'.repeat(2000) }),
  );
  for (const { body } of await Promise.all(sent)) assert.equal(body.stored, true);
  const backup = join(source.dataDir, 'backup.db');
  await source.json('backup', backup);
  await gateway.stop();
  return { backup, key, masterKey: readFileSync(join(source.dataDir, 'master.key')), rows: sent.length };
}

async function namesOfOwners(dataDir: string): Promise<string[]> {
  return withStore(dataDir, async (store) => (await store.owners.list()).map(({ name }) => name));
}

for (const hasData of [false, true]) {
  const into = hasData ? 'a store with data (--replace)' : 'an empty folder';
  test(`A restore into ${into} that is killed never leads to a server that starts empty`, { timeout }, async (t) => {
    const { backup, masterKey, key, rows } = await prepareBackup(t);
    const prepare = async (): Promise<Installation> => {
      const target = await install(t);
      writeFileSync(join(target.dataDir, 'master.key'), masterKey, { mode: 0o600 });
      if (hasData) {
        await target.json('restore', backup);
        await target.json('owner', 'create', '--name', sinceBackup);
      }
      return target;
    };
    const args = ['restore', backup, ...(hasData ? ['--replace'] : [])];
    const draftOf = ({ dataDir }: Installation): string => join(dataDir, 'tocsin.db.unfinished-restore');
    const trial = await prepare();
    const wholeMs = await timeFrom(start(trial, args), draftOf(trial));
    const seen = { unfinished: 0, missing: 0, unchanged: 0, restored: 0 };
    const times = Math.max(2, Math.ceil(kills / 2));
    // A restore may end before it is killed; then it is repeated, and killed as soon as possible.
    for (let kill = 0; kill < times || (seen.unfinished === 0 && kill < mostAttempts); kill += 1) {
      const target = await prepare();
      await killAfter(start(target, args), draftOf(target), kill < times ? wholeMs * ((1.1 * kill) / times) : 0);
      const began = await serveExpectingFailure(target);
      if (began.stdout !== '') {
        const names = await namesOfOwners(target.dataDir);
        assert.ok(names.includes('First owner'), 'it started empty');
        seen[names.includes(sinceBackup) ? 'unchanged' : 'restored'] += 1;
      } else if (began.stderr.includes('was interrupted')) {
        assert.match(began.stderr, /or run the same 'tocsin restore' again/);
        assert.match((await target.run(['owner', 'list'])).stderr, /was interrupted/, 'commands are refused, too');
        seen.unfinished += 1;
      } else {
        assert.match(began.stderr, /is missing, but .*'tocsin restore FILE'/s);
        seen.missing += 1;
      }
      // Rarely, the database is still in use for a moment after the server was killed.
      const again = await eventually(
        'the database is not in use',
        10_000,
        () => target.run(['restore', backup, '--replace']),
        ({ stderr }) => !stderr.includes('is in use'),
      );
      assert.equal(again.exitCode, 0, again.stderr);
      assert.deepEqual(await namesOfOwners(target.dataDir), ['First owner']);
      const gateway = await target.serve();
      assert.equal(gateway.line.firstRun, undefined);
      assert.equal((await notify({ api: gateway.api, key }, { title: 'after' })).body.stored, true);
      assert.equal(await gateway.stop(), 0);
      await withStore(target.dataDir, async (store) => {
        const [owner] = await store.owners.list();
        assert.equal((await readAll(store, owner?.id ?? '')).notifications.length, rows + 1);
      });
      await target.remove();
    }
    t.diagnostic(JSON.stringify(seen));
    assert.ok(seen.unfinished > 0, 'no kill happened during the restore');
  });
}

test('A server that is started during a restore is refused, and starts after it has ended', async (t) => {
  const { backup, masterKey, key } = await prepareBackup(t);
  const target = await install(t);
  writeFileSync(join(target.dataDir, 'master.key'), masterKey, { mode: 0o600 });
  const restore = start(target, ['restore', backup]);
  const closed = once(restore, 'close');
  await hasMade(restore, join(target.dataDir, 'tocsin.db.unfinished-restore'));
  restore.kill('SIGSTOP');
  const refused = await serveExpectingFailure(target);
  restore.kill('SIGCONT');
  assert.equal(refused.exitCode, 1, refused.stdout);
  assert.match(
    refused.stderr,
    new RegExp(`^A restore \\(pid ${restore.pid} on .* is running\\. Wait until it has ended\\.`),
  );
  assert.deepEqual(await closed, [0, null]);
  const gateway = await target.serve();
  assert.equal((await notify({ api: gateway.api, key }, { title: 'after' })).body.stored, true);
  assert.equal(await gateway.stop(), 0);
});

test('A missing or empty database beside its master key is not replaced by a new one', async (t) => {
  const installation = await install(t);
  const first = await installation.serve();
  await first.stop();
  const [database, away] = [join(installation.dataDir, 'tocsin.db'), join(installation.dataDir, 'away.db')];
  const keyFile = join(installation.dataDir, 'master.key');
  const lost: Record<string, () => void> = {
    'is missing': () => renameSync(database, away),
    'is empty': () => {
      renameSync(database, away);
      writeFileSync(database, '');
    },
  };
  for (const [state, lose] of Object.entries(lost)) {
    lose();
    const { exitCode, stderr, stdout } = await serveExpectingFailure(installation);
    assert.equal(exitCode, 1, stdout);
    assert.match(stderr, new RegExp(`^The database \\S+tocsin\\.db ${state}, but \\S+master\\.key belongs to one\\.`));
    assert.match(
      stderr,
      /Is the right volume mounted\?.*'tocsin restore FILE'.*To start a new store, move master\.key/s,
    );
    assert.ok(!existsSync(database) || statSync(database).size === 0, 'nothing was created');
    const made = await installation.run(['owner', 'create', '--name', 'Ann']);
    assert.match(made.stderr, new RegExp(`${state}, but`));
    renameSync(away, database);
  }
  // A database without any of its tables, as after the loss of its write-ahead log.
  renameSync(database, away);
  const empty = new DatabaseSync(database);
  empty.exec('PRAGMA journal_mode = WAL; CREATE TABLE gone (id); DROP TABLE gone');
  empty.close();
  assert.match((await serveExpectingFailure(installation)).stderr, /is empty, but/);
  // Requested explicitly.
  renameSync(keyFile, join(installation.dataDir, 'kept.key'));
  const recreated = await installation.serve();
  assert.ok(recreated.line.firstRun, 'a new store');
  await recreated.stop();
});

test('An empty PostgreSQL database beside a master key is refused as well', async (t) => {
  if (!canRun(t, postgresObstacle())) return;
  const postgres = await Postgres.start();
  t.after(() => postgres.stop());
  const installation = await install(t);
  await (await installation.serve()).stop();
  const refused = await serveExpectingFailure(installation, { TOCSIN_DATABASE_URL: await postgres.createDatabase() });
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stderr, /^The PostgreSQL database .* is empty, but \S+master\.key belongs to a store with data/);
  assert.match(refused.stderr, /'tocsin migrate-store --to URL' .*To start a new store, move master\.key/s);
});
