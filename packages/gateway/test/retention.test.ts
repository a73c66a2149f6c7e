import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { RowTamperer } from '@tocsin/test-support/row-tamperer.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { holdMs } from '../src/core/clock-record.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { openStore } from '../src/store/open-store.ts';
import { startRetention } from '../src/usecases/retention.ts';

const dayMs = 86_400_000;
const now = 1_800_000_000_000;

test('Deleted notifications are purged after a minute, and those of owners with a shorter retention earlier', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tocsin-retention-'));
  const store = await openStore({ dataDir, masterKey: null }, 'create');
  t.after(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });
  async function save(ownerId: string, daysAgo: number): Promise<string> {
    const createdAt = now - daysAgo * dayMs;
    const id = createUuidV7Source(() => createdAt, randomUUID)();
    await store.notifications.save({ id, ownerId, createdAt, content: sampleContent() });
    return id;
  }
  const titles = async (ownerId: string): Promise<string[]> =>
    (await store.notifications.list(ownerId, { limit: 10 })).notifications.map(({ id }) => id);

  // The data key of the first is lost: that must not affect the retention of the others.
  await store.owners.create(plainOwner('own_lost', 0));
  const rows = new RowTamperer(dataDir);
  rows.remove('data_keys', { owner_id: 'own_lost' });
  rows.close();
  await store.owners.create(plainOwner('own_ann', 1, { retentionDays: 10 }));
  await store.owners.create(plainOwner('own_bob', 2));
  await store.owners.create(plainOwner('own_cat', 3, { retentionDays: 99 }));
  const kept = { ann: await save('own_ann', 9), bob: await save('own_bob', 20), cat: await save('own_cat', 29) };
  for (const [ownerId, daysAgo] of [
    ['own_ann', 11],
    ['own_bob', 31],
    ['own_cat', 31],
  ] as const) {
    await save(ownerId, daysAgo);
  }
  const [gone, restorable] = [await save('own_bob', 1), await save('own_bob', 2)];
  await store.inbox.delete('own_bob', [gone], now - 61_000);
  await store.inbox.delete('own_bob', [restorable], now - 59_000);

  const { promise, resolve, reject } = Promise.withResolvers<number>();
  await store.clock.save({ seenAt: now, heldMs: holdMs, jumped: null });
  const end = startRetention({
    store,
    retentionDays: 30,
    now: () => now,
    monotonicNow: () => 0,
    onPurged: resolve,
    onFailed: reject,
    onClockDoubt: reject,
  });
  t.after(end);
  assert.equal(await promise, 4);
  assert.deepEqual(await titles('own_ann'), [kept.ann]);
  assert.deepEqual(await titles('own_cat'), [kept.cat]);
  assert.equal(await store.inbox.restore('own_bob', [gone, restorable]), 1);
  assert.deepEqual(await titles('own_bob'), [restorable, kept.bob]);
});
