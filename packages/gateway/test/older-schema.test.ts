import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { withoutRowVersions } from '@tocsin/test-support/older-rows.ts';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { withStore } from '@tocsin/test-support/stored-notifications.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { SqliteRows } from '../src/store/copy/sqlite-rows.ts';
import { openSqliteSnapshot } from '../src/store/copy/sqlite-snapshot.ts';
import { copyRows } from '../src/store/copy/transfer.ts';
import { createSchema, knownMigrations, transferTables } from '../src/store/copy/transfer-tables.ts';
import { databaseFileName, masterKeyFileName } from '../src/store/files/data-directory.ts';
import { openStore } from '../src/store/open-store.ts';
import { createSqliteDatabase } from '../src/store/sqlite/database.ts';
import type { Owner } from '../src/usecases/ports/index.ts';

test('A database from before the inbox existed is opened with all its data, unread and undeleted', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-older-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const [recent, old] = [join(dataDir, 'recent'), join(dataDir, 'old')];
  const id = createUuidV7Source(Date.now, randomUUID)();
  const store = await openStore({ dataDir: recent, masterKey: null }, 'create');
  await store.owners.create(plainOwner('own_ann', 1));
  const { role: _, quietHours: __, retentionDays: ___, ...asBefore } = plainOwner('own_ann', 1, { name: 'Ann' });
  await store.owners.update(asBefore as Owner);
  const device = { id: 'dev_1', ownerId: 'own_ann', name: 'Phone', state: 'active', paused: false } as const;
  await store.devices.create({ ...device, createdAt: 1, seenAt: null }, 'digest');
  const content = sampleContent({ title: 'Old' });
  await store.notifications.save({ id, ownerId: 'own_ann', createdAt: 1, content });
  await store.close();
  const rows = createSqliteDatabase(join(recent, databaseFileName));
  await withoutRowVersions(rows, join(recent, masterKeyFileName));
  await rows.close();

  const steps = knownMigrations.filter((name) => name < '0006');
  await mkdir(old, { mode: 0o700 });
  await copyFile(join(recent, masterKeyFileName), join(old, masterKeyFileName));
  const db = new DatabaseSync(join(old, databaseFileName));
  createSchema(db, steps);
  const source = openSqliteSnapshot(join(recent, databaseFileName));
  await copyRows(transferTables(steps), source, new SqliteRows(db), () => undefined);
  await source.close();
  db.close();

  await withStore(old, async (opened) => {
    assert.deepEqual(await opened.owners.list(), [plainOwner('own_ann', 1, { name: 'Ann' })]);
    assert.deepEqual(await opened.devices.list('own_ann'), [{ ...device, createdAt: 1, seenAt: null }]);
    const { items } = await opened.inbox.list('own_ann', { limit: 5 });
    assert.deepEqual(items, [{ id, ownerId: 'own_ann', createdAt: 1, content, isRead: false }]);
    await opened.inbox.markAllRead('own_ann', id);
    assert.equal(await opened.inbox.countUnread('own_ann', 5), 0);
    assert.deepEqual(await opened.maintenance.verify(), []);
  });
});
