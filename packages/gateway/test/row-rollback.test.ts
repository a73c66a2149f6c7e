// An attacker who can write the database, without the master key, restores earlier states of rows: revoked, ended or used
// credentials stay so, and the operator is warned.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, suite, type TestContext, test } from 'node:test';
import { ConsoleClient, linkFor, signInAs, tokenIn } from '@tocsin/test-support/console-client.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { Installation } from '@tocsin/test-support/gateway-process.ts';
import { isLongRun } from '@tocsin/test-support/long-run.ts';
import { withoutRowVersions } from '@tocsin/test-support/older-rows.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { allButOneOf, changedRows, RawRows, type RowSnapshot, subsetsOf } from '@tocsin/test-support/raw-rows.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { createPostgresFixture, createSqliteFixture, type StoreFixture } from '@tocsin/test-support/store-fixture.ts';
import { masterKeyFileName } from '../src/store/files/data-directory.ts';
import type { Database } from '../src/store/schema/database.ts';
import { prepareRowVersions } from '../src/store/upkeep/row-version-scan.ts';
import { Keyring } from '../src/store/vault/keyring.ts';
import { masterKeySource } from '../src/store/vault/master-key.ts';
import { MasterKeyring } from '../src/store/vault/master-keyring.ts';
import { RowVersions } from '../src/store/vault/row-versions.ts';
import { DecryptionFailed, EncryptionKeyMissing, type Store, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { startRetention } from '../src/usecases/retention.ts';

const ann = 'own_ann0000000000A';
const [bob, carol] = ['own_bob0000000000B', 'own_car0000000000A'];
const later = Date.now() + 3_600_000;

/** Ways to withdraw a credential, and whether it is accepted again. */
interface Withdrawal {
  withdraw(store: Store): Promise<unknown>;
  isHonoured(store: Store): Promise<boolean>;
}

const usesUp = async (store: Store): Promise<boolean> =>
  (await store.oneTimeLinks.consume('token of link', Date.now())) !== null;

const withdrawals: Record<string, Withdrawal> = {
  'a key that was revoked': {
    withdraw: (store) => store.keys.revoke('key_1', 5),
    isHonoured: async (store) => (await store.keys.find('digest 1'))?.revokedAt === null,
  },
  'a session that was ended': {
    withdraw: (store) => store.sessions.delete(ann, 'ses_1'),
    isHonoured: async (store) => (await store.sessions.find('token of ses_1', Date.now())) !== null,
  },
  'a session that was ended with all others': {
    withdraw: (store) => store.sessions.deleteOthers(ann, 'ses_2'),
    isHonoured: async (store) => (await store.sessions.find('token of ses_1', Date.now())) !== null,
  },
  'a link that was used': {
    withdraw: (store) => store.oneTimeLinks.consume('token of link', Date.now()),
    isHonoured: usesUp,
  },
  'a role that was revoked': {
    withdraw: (store) => store.owners.change(ann, (owner) => ({ ...owner, role: 'owner' })),
    isHonoured: async (store) => (await store.owners.find(ann))?.role === 'operator',
  },
  'a passkey that was removed': {
    withdraw: (store) => store.passkeys.delete(ann, 'pky_1'),
    isHonoured: async (store) => (await store.passkeys.find('credential 1')) !== null,
  },
  'an identity that was unlinked': {
    withdraw: (store) => store.identities.delete(ann, 'oid_1'),
    isHonoured: async (store) => (await store.identities.find('subject 1')) !== null,
  },
  'an owner who was deleted': {
    withdraw: (store) => store.owners.delete(ann),
    isHonoured: async (store) => (await store.owners.find(ann)) !== null,
  },
};

/** In a short run, those that also run on PostgreSQL: a row that changes, one that is deleted, and many that are deleted. */
const shortOnPostgres = ['a key that was revoked', 'a session that was ended', 'an owner who was deleted'];
/** In a short run, for the others all but one of the rows are restored, and one of the versions is removed. */
const withEveryChoice = ['a key that was revoked'];

async function fill(store: Store): Promise<void> {
  for (const id of [ann, bob, carol]) await store.owners.create(plainOwner(id, 1, { role: 'operator' }));
  await addKey(store, ann, 'key_1', 'digest 1');
  for (const id of ['ses_1', 'ses_2']) await addSession(store, ann, id);
  const link = { purpose: 'sign_in', method: 'link', email: null, createdAt: 1, expiresAt: later } as const;
  await store.oneTimeLinks.create({ ...link, ownerId: ann, tokenDigest: 'token of link' });
  const credential = {
    credentialId: 'c',
    publicKey: 'p',
    transports: [],
    name: 'n',
    counter: 0,
    usedAt: null,
    userVerified: null,
  };
  await store.passkeys.create({
    ...credential,
    id: 'pky_1',
    ownerId: ann,
    credentialDigest: 'credential 1',
    createdAt: 1,
  });
  const identity = { issuer: 'https://i.example', subject: 's', createdAt: 1 };
  await store.identities.create({ ...identity, id: 'oid_1', ownerId: ann, subjectDigest: 'subject 1' });
}

function addKey(store: Store, ownerId: string, id: string, digest: string): Promise<void> {
  const key = { type: 'public_client', label: null, allowedDomains: [], requireSignature: false } as const;
  const limits = { rateLimit: null, expiresAt: null, revokedAt: null, irregular: false };
  return store.keys.create({ ...key, ...limits, id, ownerId, digest, createdAt: 1 });
}

function addSession(store: Store, ownerId: string, id: string): Promise<void> {
  const about = { method: 'link', userAgent: '', address: '', createdAt: 1, seenAt: 1, expiresAt: later } as const;
  return store.sessions.create({ ...about, id, ownerId, tokenDigest: `token of ${id}` });
}

/** The name of a row in messages: no whole digest of a link. */
function nameOf(row: string): string {
  const id = row.split(' ')[2] as string;
  return row.startsWith('one_time_links') ? id.slice(0, 8) : id;
}

/** Rewrites the rows as the previous version wrote them, all or those of some tables. */
async function makeOlder(fixture: StoreFixture, tables?: readonly string[]): Promise<void> {
  const database = await fixture.openDatabase();
  await withoutRowVersions(database, masterKeyFileOf(fixture), tables);
  await database.close();
}

const masterKeyFileOf = ({ dataDir }: StoreFixture): string => join(dataDir, masterKeyFileName);

/** Starts to adopt rows, and is killed after its first transaction. */
async function startAdoption(fixture: StoreFixture): Promise<void> {
  const database = await fixture.openDatabase();
  let writes = 0;
  const killed: Database = {
    ...database,
    write: async (queries) => {
      writes += 1;
      if (writes > 1) throw new StoreUnavailable('killed');
      return database.write(queries);
    },
  };
  const master = await MasterKeyring.open(killed, masterKeySource(null, masterKeyFileOf(fixture)), () => undefined);
  const versions = new RowVersions(killed, master, (message) => assert.fail(message));
  await assert.rejects(prepareRowVersions(killed, new Keyring(killed, master), versions, 'create'), /killed/);
  await database.close();
}

let postgres: Postgres | null = null;
const obstacle = postgresObstacle();
before(async () => {
  if (obstacle === null) postgres = await Postgres.start(['fsync = off']);
});
after(() => postgres?.stop());

/** Each opening of a store starts threads, so on SQLite it is filled once and copied. */
let filled: Promise<string> | null = null;
after(async () => {
  if (filled !== null) await rm(await filled, { recursive: true, force: true });
});

async function createFilled(): Promise<string> {
  const fixture = await createSqliteFixture();
  await openAndFill(fixture);
  return fixture.dataDir;
}

async function openAndFill({ open }: StoreFixture): Promise<void> {
  const store = await open();
  await fill(store);
  await store.close();
}

interface Backend {
  create(): Promise<StoreFixture>;
  fill(fixture: StoreFixture): Promise<void>;
}

const backends: Record<string, Backend> = {
  SQLite: {
    create: createSqliteFixture,
    fill: async ({ dataDir }) => {
      filled ??= createFilled();
      await cp(await filled, dataDir, { recursive: true });
    },
  },
  PostgreSQL: {
    create: () => createPostgresFixture(postgres as Postgres),
    fill: openAndFill,
  },
};

for (const [name, { create, fill: fillNew }] of Object.entries(backends)) {
  suite(`Earlier states of rows, restored into ${name}`, () => {
    const isThere = (t: TestContext) => name === 'SQLite' || canRun(t, obstacle);
    let fixture: StoreFixture;
    let raw: RawRows;
    beforeEach(async () => {
      if (name !== 'SQLite' && obstacle !== null) return;
      fixture = await create();
      await fillNew(fixture);
      raw = await fixture.openRows();
    });
    afterEach(async () => {
      await raw?.close();
      await fixture?.remove();
    });

    async function withStore<T>(use: (store: Store, refused: string[]) => Promise<T>): Promise<T> {
      const refused: string[] = [];
      const store = await fixture.open({ onRowRefused: (message) => refused.push(message) });
      try {
        return await use(store, refused);
      } finally {
        await store.close();
      }
    }

    /** A refusal to read counts as not accepted. */
    const isHonoured = (store: Store, { isHonoured: ask }: Withdrawal): Promise<boolean> =>
      ask(store).catch((error: unknown) => {
        const isRefusal = [DecryptionFailed, StoreUnavailable, EncryptionKeyMissing].some(
          (type) => error instanceof type,
        );
        if (isRefusal) return false;
        throw error;
      });

    /** The rows that the withdrawal changes, before and after. */
    async function withdraw(
      withdrawal: Withdrawal,
    ): Promise<{ from: RowSnapshot; to: RowSnapshot; changed: string[] }> {
      const from = await raw.snapshot();
      await withStore((store) => withdrawal.withdraw(store));
      const to = await raw.snapshot();
      return { from, to, changed: changedRows(from, to) };
    }

    const isShown = (what: string) => name === 'SQLite' || isLongRun || shortOnPostgres.includes(what);
    for (const [what, withdrawal] of Object.entries(withdrawals).filter(([each]) => isShown(each))) {
      const isEveryChoice = isLongRun || withEveryChoice.includes(what);
      test(`${what} stays so, whichever of its rows and versions are restored or removed`, async (t) => {
        if (!isThere(t)) return;
        assert.ok(await withStore(async (store) => isHonoured(store, what.includes('link') ? noLink : withdrawal)));
        const { from, to, changed } = await withdraw(withdrawal);
        const versions = changed.filter((each) => each.startsWith('row_versions '));
        const rows = changed.filter((each) => !each.startsWith('row_versions '));
        // Rows of a deleted owner are restored together, or not at all: each alone cannot be decrypted.
        const parts = [...versions, rows];
        for (const back of isEveryChoice ? subsetsOf(parts) : allButOneOf(parts)) {
          const names = back.flat();
          if (names.length === changed.length) continue;
          await raw.restore(from, names);
          await withStore(async (store, refused) => {
            assert.equal(await isHonoured(store, withdrawal), false, `restored: ${names.join(', ')}`);
            assert.ok((await store.maintenance.findRolledBackRows()).length > 0, `doctor: ${names.join(', ')}`);
            if (back.includes(rows) && !what.includes('owner')) assert.ok(refused.length > 0, 'the log');
          });
          await raw.restore(to, changed);
        }
        const present = versions.filter((each) => to.has(each));
        for (const removed of isEveryChoice ? subsetsOf(present) : present.map((each) => [each])) {
          await raw.restore(from, rows);
          await raw.remove(removed);
          await withStore(async (store) => {
            assert.equal(await isHonoured(store, withdrawal), false, `removed: ${removed.join(', ')}`);
            assert.ok(
              (await store.maintenance.findRolledBackRows()).length > 0,
              `doctor, removed: ${removed.join(', ')}`,
            );
          });
          await raw.restore(to, changed);
        }
        await withStore(async (store) =>
          assert.deepEqual(await store.maintenance.verify(), [], 'the original state verifies'),
        );
      });

      test(`${what} stays so in a process that saw it, even if all of it is restored`, async (t) => {
        if (!isThere(t)) return;
        await withStore(async (store, refused) => {
          const from = await raw.snapshot();
          await withdrawal.withdraw(store);
          await raw.restore(from, changedRows(from, await raw.snapshot()));
          assert.equal(await isHonoured(store, withdrawal), false);
          assert.ok(refused.length > 0);
        });
      });

      test(`${what} stays so if something else was written since, unless that is restored too`, async (t) => {
        if (!isThere(t)) return;
        const { from, changed } = await withdraw(withdrawal);
        await withStore((store) => addSession(store, bob, 'ses_b'));
        const since = await raw.snapshot();
        await raw.restore(from, changed);
        await withStore(async (store) => {
          assert.ok((await store.maintenance.findRolledBackRows()).length > 0);
          assert.equal(await store.sessions.find('token of ses_b', Date.now()), null);
        });
        // SECURITY.md: all of it at once, while no server runs that saw it, cannot be distinguished from a restored backup.
        await raw.restore(from, changedRows(from, since));
        await withStore(async (store) => {
          assert.equal(await isHonoured(store, withdrawal), true);
          assert.deepEqual(await store.maintenance.findRolledBackRows(), []);
        });
      });
    }

    const noLink: Withdrawal = {
      withdraw: async () => undefined,
      isHonoured: async (store) => (await store.oneTimeLinks.find('token of link', Date.now())) !== null,
    };

    test('no row is adopted as if it were of the previous version, if all versions are removed', async (t) => {
      if (!isThere(t)) return;
      const { from, to } = await withdraw(withdrawals['a key that was revoked'] as Withdrawal);
      await raw.restore(from, [`api_keys ${ann} key_1`]);
      await raw.remove([...to.keys()].filter((each) => each.startsWith('row_versions ')));
      await withStore(async (store, refused) => {
        assert.equal(await store.keys.find('digest 1'), null);
        assert.match(refused.join('\n'), /doctor --trust-rows/);
        assert.match((await store.maintenance.findRolledBackRows()).join('\n'), /row versions were removed/);
      });
    });

    test('rows in use are never reported as rolled back, with many concurrent writers', async (t) => {
      if (!isThere(t)) return;
      const refused: string[] = [];
      const nodes = await Promise.all(
        [1, 2, 3].map(() => fixture.open({ onRowRefused: (message) => refused.push(message) })),
      );
      try {
        const owners = [ann, bob, carol];
        await Promise.all(
          nodes.flatMap((store, node) =>
            owners.map(async (ownerId, index) => {
              for (let turn = 0; turn < 8; turn += 1) {
                const id = `ses_${node}_${index}_${turn}`;
                await addSession(store, ownerId, id);
                const found = await nodes[(node + 1) % nodes.length]?.sessions.find(`token of ${id}`, Date.now());
                assert.equal(found?.id, id);
                await store.owners.change(ownerId, (owner) => ({ ...owner, name: id }));
                assert.notEqual(await store.owners.find(ownerId), null);
                if (turn % 2 === 0) assert.equal(await store.sessions.delete(ownerId, id), true);
              }
            }),
          ),
        );
        assert.deepEqual(refused, []);
        assert.deepEqual(await nodes[0]?.maintenance.verify(), []);
        assert.equal((await nodes[1]?.sessions.list(bob, Date.now()))?.length, 12);
      } finally {
        await Promise.all(nodes.map((store) => store.close()));
      }
    });

    test('a link is consumed by one of many concurrent callers', async (t) => {
      if (!isThere(t)) return;
      const nodes = await Promise.all([1, 2, 3].map(() => fixture.open()));
      const taken = await Promise.all(
        [0, 1, 2, 0, 1, 2].map((node) => nodes[node]?.oneTimeLinks.consume('token of link', Date.now())),
      );
      await Promise.all(nodes.map((store) => store.close()));
      assert.equal(taken.filter((link) => link !== null).length, 1);
    });

    test('expired sessions and links are purged with their versions', async (t) => {
      if (!isThere(t)) return;
      await withStore(async (store) => {
        const kept = await raw.snapshot();
        await store.maintenance.purge(0, later + 1);
        assert.deepEqual(await store.maintenance.verify(), []);
        const name = `sessions ${ann} ses_1`;
        assert.ok(kept.has(name) && !(await raw.snapshot()).has(name));
        await raw.restore(kept, [name]);
        assert.equal(await store.sessions.find('token of ses_1', Date.now()), null);
      });
    });

    test('the operator can accept rows as they are', async (t) => {
      if (!isThere(t)) return;
      const { from } = await withdraw(withdrawals['a key that was revoked'] as Withdrawal);
      await raw.restore(from, [`api_keys ${ann} key_1`]);
      await raw.remove(['row_versions head']);
      await withStore(async (store) => {
        await assert.rejects(addSession(store, bob, 'ses_b'), StoreUnavailable);
        await store.maintenance.trustRows();
        assert.deepEqual(await store.maintenance.verify(), []);
        assert.equal((await store.keys.find('digest 1'))?.revokedAt, null);
        await addSession(store, bob, 'ses_b');
        assert.equal((await store.sessions.find('token of ses_b', Date.now()))?.ownerId, bob);
      });
    });

    test('a head that was restored with the rows of one owner is reported', async (t) => {
      if (!isThere(t)) return;
      const { from, changed } = await withdraw(withdrawals['a key that was revoked'] as Withdrawal);
      await withStore((store) => addSession(store, bob, 'ses_b'));
      await raw.restore(from, changed);
      await withStore(async (store) => {
        assert.match((await store.maintenance.findRolledBackRows()).join('\n'), /row_versions head: it is older/);
        // As SECURITY.md says, it is the other owner that is refused.
        assert.equal((await store.keys.find('digest 1'))?.revokedAt, null);
        assert.equal(await store.sessions.find('token of ses_b', Date.now()), null);
      });
    });

    test('no running server refuses a row while the operator accepts rows as they are', async (t) => {
      if (!isThere(t)) return;
      await withStore(async (server, refused) => {
        const command = await fixture.open();
        let isDone = false;
        const accepting = (async () => {
          for (let turn = 0; turn < 5; turn += 1) await command.maintenance.trustRows();
        })().finally(() => {
          isDone = true;
        });
        for (let turn = 0; !isDone; turn += 1) {
          assert.ok(await server.keys.find('digest 1'));
          if (turn % 20 === 0) await addSession(server, bob, `ses_${turn}`);
        }
        await accepting;
        await command.close();
        assert.deepEqual([refused, await server.maintenance.verify()], [[], []]);
      });
    });

    /** Simulates the rows that a server of the previous version writes, next to one of this version. */
    async function writeOlder(tables?: readonly string[]): Promise<void> {
      await raw.close();
      await makeOlder(fixture, tables);
      raw = await fixture.openRows();
    }

    test('rows of the previous version are adopted, and protected from then on', async (t) => {
      if (!isThere(t)) return;
      await writeOlder();
      const before = await raw.snapshot();
      assert.ok([...before.keys()].every((each) => !each.startsWith('row_versions ')));
      await withStore(async (store, refused) => {
        for (const withdrawal of Object.values(withdrawals).filter(({ isHonoured: ask }) => ask !== usesUp)) {
          assert.equal(await withdrawal.isHonoured(store), true);
        }
        // A server of the previous version, still running, writes rows without a version.
        await addSession(store, ann, 'ses_old');
        await writeOlder(['sessions']);
        assert.equal((await store.sessions.find('token of ses_old', Date.now()))?.id, 'ses_old');
        assert.deepEqual([refused, await store.maintenance.verify()], [[], []]);
      });
      // The next start adopts those, too.
      await withStore(async (store, refused) => {
        assert.equal((await store.sessions.find('token of ses_old', Date.now()))?.id, 'ses_old');
        assert.deepEqual([refused, await store.maintenance.verify()], [[], []]);
      });
    });

    test('after a day, rows without a version are valid only if they were adopted', async (t) => {
      if (!isThere(t)) return;
      await writeOlder();
      const before = await raw.snapshot();
      await withStore((store) => store.sessions.delete(ann, 'ses_1'));
      await raw.restore(before, [`sessions ${ann} ses_1`, `api_keys ${ann} key_1`]);
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 25 * 3_600_000 });
      await withStore(async (store, refused) => {
        assert.equal(await store.sessions.find('token of ses_1', later - 1), null);
        assert.equal(refused.length, 1);
        assert.equal((await store.sessions.find('token of ses_2', later - 1))?.id, 'ses_2');
        assert.equal((await store.keys.find('digest 1'))?.id, 'key_1');
        assert.match((await store.maintenance.findRolledBackRows()).join(), /ses_1/);
      });
    });

    test('rows that a server of the previous version writes within a day stay valid, without a restart of this one', async (t) => {
      if (!isThere(t)) return;
      await writeOlder();
      const startedAt = Date.now();
      t.mock.timers.enable({ apis: ['Date'], now: startedAt });
      await withStore(async (store, refused) => {
        await addSession(store, ann, 'ses_old');
        await store.owners.change(bob, (owner) => ({ ...owner, name: 'Renamed' }));
        await writeOlder(['sessions', 'owners']);
        const retention = {
          ...{ store, retentionDays: 90, now: Date.now, monotonicNow: () => performance.now() },
          ...{ onPurged: () => undefined, onClockDoubt: () => undefined },
          onFailed: (error: unknown) => assert.fail(String(error)),
        };
        await startRetention(retention)();
        for (const minutes of [23 * 60, 24 * 60]) {
          t.mock.timers.setTime(startedAt + minutes * 60_000);
          await addKey(store, bob, `key_${minutes}`, `digest ${minutes}`);
          await writeOlder(['api_keys']);
          await store.maintenance.adoptRows();
        }
        t.mock.timers.setTime(startedAt + 25 * 3_600_000);
        assert.deepEqual(await store.maintenance.verify(), []);
        assert.equal((await store.sessions.find('token of ses_old', later - 1))?.id, 'ses_old');
        assert.equal((await store.owners.find(bob))?.name, 'Renamed');
        for (const digest of ['digest 1', 'digest 1380', 'digest 1440'])
          assert.ok(await store.keys.find(digest), digest);
        assert.deepEqual(refused, []);
        // From then on they are protected, too.
        const before = await raw.snapshot();
        await store.keys.revoke('key_1440', 5);
        await raw.restore(before, [`api_keys ${bob} key_1440`]);
        assert.equal(await store.keys.find('digest 1440'), null);
      });
    });

    test('an adoption that was interrupted is continued at any later time', async (t) => {
      if (!isThere(t)) return;
      const ids = Array.from({ length: 130 }, (_, index) => `own_${String(index).padStart(13, '0')}`);
      await withStore(async (store) => {
        for (const id of ids) await store.owners.create(plainOwner(id, 1));
        for (const id of ids) await addKey(store, id, `key_of_${id}`, `digest of ${id}`);
      });
      await writeOlder();
      await startAdoption(fixture);
      t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 25 * 3_600_000 });
      await withStore(async (store, refused) => {
        assert.deepEqual(await store.maintenance.verify(), []);
        assert.equal((await store.owners.list()).length, ids.length + 3);
        for (const id of ids) assert.ok(await store.keys.find(`digest of ${id}`), id);
        assert.deepEqual(refused, []);
      });
      // It is finished: rows that come without a version later are refused.
      await withStore((store) => addSession(store, ann, 'ses_late'));
      await writeOlder(['sessions']);
      await withStore(async (store) => assert.equal(await store.sessions.find('token of ses_late', later - 1), null));
    });

    test('a restart within the day after an upgrade makes no row valid that has a version', async (t) => {
      if (!isThere(t)) return;
      await writeOlder();
      const kept = await withStore(async (store) => {
        await addKey(store, ann, 'key_new', 'digest new');
        for (const id of ['ses_new', 'ses_lost']) await addSession(store, ann, id);
        await store.owners.change(bob, (owner) => ({ ...owner, name: 'Operator', role: 'operator' }));
        return raw.snapshot();
      });
      await withStore(async (store) => {
        await store.keys.revoke('key_new', 5);
        await store.sessions.delete(ann, 'ses_new');
        await store.owners.change(bob, (owner) => ({ ...owner, role: 'owner' }));
      });
      const names = [`api_keys ${ann} key_new`, `sessions ${ann} ses_new`, `owners ${bob}`];
      await raw.restore(kept, names);
      await raw.remove([`sessions ${ann} ses_lost`]);
      for (const hours of [0, 1, 25]) {
        if (hours === 1) t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
        if (hours > 0) t.mock.timers.tick(hours * 3_600_000);
        await withStore(async (store, refused) => {
          assert.equal(await store.keys.find('digest new'), null);
          assert.equal(await store.sessions.find('token of ses_new', later - 1), null);
          await assert.rejects(store.owners.find(bob), DecryptionFailed);
          assert.equal(refused.length, names.length);
          const found = (await store.maintenance.findRolledBackRows()).join('\n');
          for (const id of ['key_new', 'ses_new', bob]) assert.ok(found.includes(id), id);
          if (hours === 25) assert.match(found, /ses_lost: missing/);
        });
      }
    });

    test('no write for an owner who was just deleted recreates the owner', async (t) => {
      if (!isThere(t)) return;
      const other = await fixture.open();
      try {
        await addSession(other, ann, 'ses_other');
        const before = await raw.snapshot();
        await withStore((store) => store.owners.delete(ann));
        await assert.rejects(addKey(other, ann, 'key_2', 'digest 2'), EncryptionKeyMissing);
        await assert.rejects(addSession(other, ann, 'ses_3'), EncryptionKeyMissing);
        await other.keys.delete(ann, 'key_1');
        assert.equal(await other.sessions.delete(ann, 'ses_1'), false);
        const after = await raw.snapshot();
        assert.deepEqual(
          [...after.keys()].filter((each) => each.includes(ann)),
          [],
        );
        const rows = [...before.keys()].filter((each) => each.includes(ann) && !each.startsWith('row_versions '));
        await raw.restore(before, rows);
        for (const open of [async () => other, () => fixture.open()]) {
          const store = await open();
          await assert.rejects(store.owners.find(ann), DecryptionFailed);
          assert.equal(await store.keys.find('digest 1'), null);
          assert.equal(await store.sessions.find('token of ses_other', Date.now()), null);
          if (store !== other) await store.close();
        }
      } finally {
        await other.close();
      }
    });

    /** A running server on a new database. */
    async function serveNew(t: TestContext) {
      const own = await create();
      const installation = await Installation.create(own.environment);
      const gateway = await installation.serve();
      const rows = name === 'SQLite' ? RawRows.ofFile(installation.dataDir) : await own.openRows();
      t.after(async () => {
        await rows.close();
        await installation.remove();
        await own.remove();
      });
      return { installation, gateway, rows };
    }

    test('with one refused owner the commands show the others, and what to do', async (t) => {
      if (!isThere(t)) return;
      const { installation, gateway, rows } = await serveNew(t);
      const first = gateway.line.firstRun?.owner as string;
      const { id: refused } = await installation.json('owner', 'create', '--name', 'Refused', '--role', 'operator');
      const { id: key } = await installation.json('key', 'create', '--owner', refused as string);
      const before = await rows.snapshot();
      await installation.json('owner', 'set', refused as string, '--role', 'owner');
      await rows.restore(before, [`owners ${refused}`]);

      const list = await installation.run(['owner', 'list']);
      assert.equal(list.exitCode, 1);
      assert.match(list.stdout, new RegExp(`^${first} `, 'm'));
      assert.match(list.stdout, new RegExp(`^${refused} +REFUSED`, 'm'));
      const words = new RegExp(`rows of 1 owner are refused, .*${refused}.*tocsin doctor`);
      assert.match(list.stderr, words);
      const json = await installation.run(['owner', 'list', '--json']);
      assert.equal(json.exitCode, 1);
      assert.deepEqual(JSON.parse(json.stdout).at(-1), { id: refused, refused: true });
      const keys = await installation.run(['key', 'list', '--owner', refused as string]);
      assert.equal(keys.exitCode, 1);
      assert.ok(keys.stdout.includes(key as string));
      assert.match(keys.stderr, words);
      const deliveries = await installation.run(['delivery', 'list']);
      assert.equal(deliveries.exitCode, 1);
      assert.match(deliveries.stderr, words);
      // The only owner that can be read is not treated as the only one that exists.
      const unclear = await installation.run(['key', 'create']);
      assert.equal(unclear.exitCode, 1);
      assert.match(unclear.stderr, words);
      assert.equal((await installation.run(['key', 'create', '--owner', first])).exitCode, 0);
      const doctor = await installation.run(['doctor']);
      assert.equal(doctor.exitCode, 1);
      assert.ok(doctor.stdout.includes(`owners ${refused}`));

      assert.match((await installation.run(['doctor', '--trust-rows'])).stdout, /accepted \d+ current rows/);
      assert.equal((await installation.run(['owner', 'list'])).exitCode, 0);
    });

    test('a server refuses them with 401, logs one line each, and doctor reports them', async (t) => {
      if (!isThere(t)) return;
      const { installation, gateway, rows } = await serveNew(t);
      const owner = gateway.line.firstRun?.owner as string;
      const { id, key } = await installation.json('key', 'create', '--label', randomUUID());
      const client = await signInAs(installation, gateway, owner);
      const other = await signInAs(installation, gateway, owner);
      const link = await linkFor(installation, client.origin, owner);
      const before = await rows.snapshot();
      const cookies = [...client.cookies];

      await installation.json('key', 'revoke', id as string);
      assert.equal((await client.post('/api/sign-out')).status < 300, true);
      const token = tokenIn(link);
      assert.equal((await new ConsoleClient(client.origin).post('/api/sign-in/link', { token })).status, 200);
      const lost = changedRows(before, await rows.snapshot()).filter((each) => before.has(each));
      const ofRows = lost.filter((each) => !each.startsWith('row_versions '));
      assert.equal(ofRows.length, 3, 'a key, a session and a link');
      await rows.restore(before, ofRows);

      const send = () => notify({ api: gateway.api, key: key as string }, { title: 'x' });
      const answer = await eventually('the server checks again', 5000, send, ({ status }) => status !== 200);
      assert.deepEqual([answer.status, answer.body.code], [401, 'invalid_api_key']);
      for (const [cookie, value] of cookies) client.cookies.set(cookie, value);
      assert.equal((await client.get('/api/session')).status, 401);
      assert.equal((await new ConsoleClient(client.origin).post('/api/sign-in/link', { token })).status, 401);
      assert.equal((await other.get('/api/session')).status, 200, 'others stay signed in');
      for (const args of [['doctor'], ['doctor', '--deep']]) {
        const { exitCode, stdout } = await installation.run(args);
        assert.equal(exitCode, 1);
        for (const each of ofRows) assert.ok(stdout.includes(nameOf(each)), `${args.join(' ')}: ${each}`);
      }
      await send();
      for (const each of ofRows) {
        const lines = gateway.log.split('\n').filter((line) => line.includes(nameOf(each)));
        assert.equal(lines.filter((line) => line.includes('"level":50')).length, 1, each);
      }
    });
  });
}
