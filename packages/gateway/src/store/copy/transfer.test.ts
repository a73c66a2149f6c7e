import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { SqliteRows } from './sqlite-rows.ts';
import { type Changes, copyRows, type RowTarget } from './transfer.ts';
import { createSchema, type Row, type Table, transferTables } from './transfer-tables.ts';

const tables = transferTables();

function tableOf(name: string): Table {
  return tables.find((table) => table.name === name) as Table;
}

function openEmpty(): { db: DatabaseSync; rows: SqliteRows } {
  const db = new DatabaseSync(':memory:');
  createSchema(db);
  return { db, rows: new SqliteRows(db) };
}

async function readTable(rows: SqliteRows, table: Table): Promise<Row[]> {
  const all: Row[] = [];
  for await (const page of rows.pages(table)) all.push(...page);
  return all;
}

const ignore = (): void => undefined;

suite('The tables to copy', () => {
  test('are all tables with rows of owners, with their keys and columns', () => {
    const notifications = tableOf('notifications');
    assert.deepEqual(
      notifications.columns.map(({ name, kind }) => `${name} ${kind}`),
      ['owner_id text', 'id text', 'created_at integer', 'sealed bytes'],
    );
    assert.deepEqual(
      notifications.key.map(({ name }) => name),
      ['owner_id', 'id'],
    );
    const names = tables.map(({ name }) => name);
    for (const name of ['meta', 'owners', 'data_keys', 'api_keys', 'idempotency', 'used_signatures']) {
      assert.ok(names.includes(name), name);
    }
    assert.ok(!names.includes('changes'));
  });
});

suite('A copy', () => {
  test('makes any table equal to any other in one pass, regardless of its rows', async () => {
    // Includes letters that sort differently in UTF-8 and UTF-16.
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '\uff5e', '\u{1f514}', '\u00e9'), maxLength: 3 });
    const row = fc.tuple(name, name, fc.nat(3), fc.uint8Array({ maxLength: 2 }));
    const someRows = fc.uniqueArray(row, { selector: ([owner, id]) => JSON.stringify([owner, id]), maxLength: 30 });
    const notifications = tableOf('notifications');
    await fc.assert(
      fc.asyncProperty(someRows, someRows, async (wanted, present) => {
        const [source, target] = [openEmpty(), openEmpty()];
        await source.rows.apply(notifications, { upserts: wanted, deletes: [] });
        await target.rows.apply(notifications, { upserts: present, deletes: [] });
        const [report] = await copyRows([notifications], source.rows, target.rows, ignore);
        const [before, after] = [present, wanted].map((rows) => new Set(rows.map(([owner, id]) => `${owner}/${id}`)));
        assert.ok(before && after);
        assert.deepEqual(
          [report?.added, report?.removed],
          [after.difference(before).size, before.difference(after).size],
        );
        assert.deepEqual(await readTable(target.rows, notifications), await readTable(source.rows, notifications));
        const again = await copyRows([notifications], source.rows, target.rows, ignore);
        assert.deepEqual(again, [{ ...report, added: 0, changed: 0, removed: 0 }]);
        source.db.close();
        target.db.close();
      }),
      { numRuns: 200 },
    );
  });

  test('copies tables of many pages', async () => {
    const notifications = tableOf('notifications');
    const [source, target] = [openEmpty(), openEmpty()];
    const upserts = Array.from({ length: 3000 }, (_, index): Row => {
      // Some rows are large, so that a page holds few of them.
      const sealed = Buffer.alloc(index % 100 === 0 ? 300_000 : 10, index);
      return [`own_${index % 3}`, String(index), index, sealed];
    });
    await source.rows.apply(notifications, { upserts, deletes: [] });
    const [report] = await copyRows([notifications], source.rows, target.rows, ignore);
    assert.equal(report?.rows, 3000);
    assert.equal(report.added, 3000);
    source.db.exec(
      "DELETE FROM notifications WHERE created_at % 2 = 0; UPDATE notifications SET created_at = -1 WHERE id = '7'",
    );
    const [second] = await copyRows([notifications], source.rows, target.rows, ignore);
    assert.deepEqual([second?.rows, second?.added, second?.changed, second?.removed], [1500, 0, 1, 1500]);
  });

  test('deletes a row before another with the same unique value is inserted', async () => {
    const keys = tableOf('api_keys');
    const [source, target] = [openEmpty(), openEmpty()];
    const insert = `INSERT INTO api_keys (owner_id, id, digest, irregular, created_at, sealed) VALUES ('own_1', ?, 'the digest', 0, 0, x'')`;
    source.db.prepare(insert).run('key_a');
    target.db.prepare(insert).run('key_b');
    const seen: Changes[] = [];
    const watched: RowTarget = {
      pages: (table) => target.rows.pages(table),
      generation: () => target.rows.generation(),
      setGeneration: (value) => target.rows.setGeneration(value),
      apply: (table, changes) => {
        seen.push(changes);
        return target.rows.apply(table, changes);
      },
    };
    const [report] = await copyRows([keys], source.rows, watched, ignore);
    assert.deepEqual([report?.added, report?.changed, report?.removed], [1, 0, 1]);
    assert.deepEqual(
      seen.map(({ deletes, upserts }) => [deletes.length, upserts.length]),
      [
        [1, 0],
        [0, 1],
      ],
    );
  });

  test('fails if the target did not store the rows as written', async () => {
    const owners = tableOf('owners');
    const [source, target] = [openEmpty(), openEmpty()];
    source.db.exec("INSERT INTO owners (id, created_at, sealed) VALUES ('own_1', 1, x'01'), ('own_2', 2, x'02')");
    target.db.exec('CREATE TRIGGER forgetful AFTER INSERT ON owners BEGIN UPDATE owners SET created_at = 9; END');
    await assert.rejects(
      copyRows([owners], source.rows, target.rows, ignore),
      /The copy of owners differs from its source: 2 rows instead of 2, or different values/,
    );
  });

  test('advances the generation past that of both sides', async () => {
    const [source, target] = [openEmpty(), openEmpty()];
    await source.rows.setGeneration(7);
    await target.rows.setGeneration(12);
    await copyRows(tables, source.rows, target.rows, ignore);
    assert.equal(await target.rows.generation(), 13);
  });
});
