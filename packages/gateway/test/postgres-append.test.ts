// How a batch of notifications reaches PostgreSQL: which parameters, and how often the server plans the statement.
import assert from 'node:assert/strict';
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { canRun } from '@tocsin/test-support/requires.ts';
import { createPostgresFixture } from '@tocsin/test-support/store-fixture.ts';
import { appendRows } from '../src/store/postgres/append.ts';
import type { RowToAppend } from '../src/store/postgres/append-queue.ts';
import { toBinaryArray } from '../src/store/postgres/binary-array.ts';
import { Connections, clientConfig } from '../src/store/postgres/connections.ts';

const obstacle = postgresObstacle();

if (obstacle !== null) {
  test('Appending to PostgreSQL', (t) => {
    canRun(t, obstacle);
  });
} else {
  let server: Postgres;
  before(async () => {
    server = await Postgres.start(['fsync = off']);
  });
  after(() => server.stop());

  test('Binary arrays have the same elements on the server', async () => {
    const connections = new Connections(clientConfig(await server.createDatabase()), { size: 1 });
    const texts = ['', 'a', 'Zürich 🔔', null, '{"quoted":"\\\\"}', 'NULL'];
    const integers = [0, -1, 2_147_483_647, null];
    const bigints = [0, -1, 1_800_000_000_000, Number.MAX_SAFE_INTEGER, null];
    const bytes = [Buffer.of(), Buffer.of(0, 255, 92), null];
    const { rows } = await connections.use((client) =>
      client.query({
        text: 'SELECT $1::text[] AS texts, $2::integer[] AS integers, $3::bigint[]::text[] AS bigints, $4::bytea[] AS bytes',
        values: [
          toBinaryArray('text', texts),
          toBinaryArray('integer', integers),
          toBinaryArray('bigint', bigints),
          toBinaryArray('bytea', bytes),
        ],
      }),
    );
    assert.deepEqual(rows, [
      { texts, integers, bigints: bigints.map((each) => (each === null ? null : String(each))), bytes },
    ]);
    const empty = await connections.use((client) =>
      client.query({ text: 'SELECT * FROM unnest($1::text[])', values: [toBinaryArray('text', [])] }),
    );
    assert.deepEqual(empty.rows, []);
    await connections.close();
  });

  test('The server plans the statement of a batch once, whatever the batch contains', async () => {
    const fixture = await createPostgresFixture(server);
    const store = await fixture.open();
    const url = fixture.environment.TOCSIN_DATABASE_URL as string;
    await fixture.runSql(
      `INSERT INTO owners VALUES ('own', 0, '');
       INSERT INTO devices VALUES ('own', 'dev', 'active', 0, '', 0, '');`,
    );
    const connections = new Connections(clientConfig(url), { size: 1, usesGenericPlans: true });
    const message = { deviceId: 'dev', clientId: '', qos: 1 as const };
    for (const size of [1, 40]) {
      for (const parts of [
        {},
        { dispatch: '{}' },
        { original: '{}' },
        { dispatch: '{}', messages: [message], resultsIfQueued: '{}' },
      ]) {
        for (let batch = 0; batch < 10; batch += 1) {
          const rows = Array.from({ length: size }, () => rowOf(parts));
          const results = await connections.use((client) => appendRows(client, rows));
          assert.deepEqual(new Set(results), new Set(['appended']));
        }
      }
    }
    const { rows } = await connections.use((client) =>
      client.query<{ name: string; custom: number; generic: number }>(
        `SELECT name, custom_plans AS custom, generic_plans AS generic FROM pg_prepared_statements
         WHERE name LIKE 'append%' ORDER BY name`,
      ),
    );
    assert.deepEqual(
      rows.map(({ custom, generic }) => ({ custom, generic })),
      [0, 1, 2, 3].map(() => ({ custom: 0, generic: 20 })),
    );
    await connections.close();
    await store.close();
    await fixture.remove();
  });
}

const key = { version: 1, key: createSecretKey(randomBytes(32)) };

function rowOf(parts: Partial<RowToAppend['row']>): RowToAppend {
  const row = { ownerId: 'own', id: randomUUID(), createdAt: 1, content: '{}', dispatch: null, leaseUntil: 1 };
  return { row: { ...row, original: null, idempotency: null, messages: [], resultsIfQueued: null, ...parts }, key };
}
