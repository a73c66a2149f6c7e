// Searching an owner's history over the console's API: matches, their order, and the load on other requests.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NotificationContent } from '@tocsin/contract';
import type { ConsoleError, InboxEntry } from '@tocsin/contract/console';
import type { ConsoleClient } from '@tocsin/test-support/console-client.ts';
import { search } from '@tocsin/test-support/console-streams.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { type LocalConsole, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { type Store, StoreUnavailable } from '../src/usecases/ports/index.ts';

const rows = 1200;
const path = '/api/notifications/search';

suite('A search', () => {
  let local: LocalConsole;
  let client: ConsoleClient;
  /** Counts the pages that were read, and runs a hook before each. */
  let reads = 0;
  /** Pages that were not the first of their search. */
  let laterReads = 0;
  let beforeRead: (count: number) => Promise<unknown> = async () => undefined;

  const watched = (store: Store): Store => ({
    ...store,
    inbox: {
      ...store.inbox,
      search: async (...args) => {
        reads += 1;
        if (args[1].before !== undefined) laterReads += 1;
        await beforeRead(reads);
        return store.inbox.search(...args);
      },
    },
  });
  const newId = createUuidV7Source(Date.now, randomUUID);
  const save = async (changes: Partial<NotificationContent>): Promise<string> => {
    const content = sampleContent({ title: 'Routine', source: 'cron', ...changes });
    const notification = { id: newId(), ownerId: local.owner.id, createdAt: Date.now(), content };
    await local.store.notifications.save(notification);
    return notification.id;
  };
  const found = async (query: Record<string, string>): Promise<string[]> =>
    (await search(client, query)).matches.map(({ title }) => title);

  before(async () => {
    local = await startLocalConsole({ wrapStore: watched, parts: { now: Date.now } });
    client = await local.signIn();
    await save({ title: 'Café öffnet', severity: 'warning', category: 'task' });
    await save({ title: 'Straße gesperrt', body: 'Łódź', severity: 'error' });
    await save({ title: 'Deep', data: { plan: [{ 'Crème brûlée': 'x', tables: 12 }] }, severity: 'warning' });
    await Promise.all(Array.from({ length: rows }, (_, count) => save({ body: `number ${count}` })));
    await save({ title: 'Last cafe', severity: 'critical' });
  });
  beforeEach(() => {
    reads = 0;
    beforeRead = async () => undefined;
  });
  after(() => local.stop());

  test('finds words regardless of case and accents in every field, newest first', async () => {
    assert.deepEqual(await found({ q: 'CAFE' }), ['Last cafe', 'Café öffnet']);
    assert.deepEqual(await found({ q: 'offnet cafe\u0301' }), ['Café öffnet']);
    assert.deepEqual(await found({ q: 'strasse lodz' }), ['Straße gesperrt']);
    assert.deepEqual(await found({ q: 'creme 12' }), ['Deep']);
    assert.deepEqual(await found({ q: 'cafe gesperrt' }), []);
    const { last } = await search(client, { q: 'nothing has this' });
    assert.deepEqual(last, { kind: 'end', opened: rows + 4, matched: 0, damaged: 0, skipped: 0, next: null });
    assert.ok(reads > 1, 'page by page');
  });

  test('combines the words with the filters for severity, category and unread', async () => {
    assert.deepEqual(await found({ severity: 'warning,error' }), ['Deep', 'Straße gesperrt', 'Café öffnet']);
    assert.deepEqual(await found({ severity: 'warning', category: 'task,promo' }), ['Café öffnet']);
    assert.deepEqual(await found({ severity: 'critical,warning', q: 'cafe' }), ['Last cafe', 'Café öffnet']);
    assert.equal((await found({ severity: 'none', limit: '100' })).length, 100);
    assert.deepEqual(await found({ severity: 'none', category: 'task' }), []);
    const { matches } = await search(client, { q: 'cafe' });
    await local.store.inbox.markRead(local.owner.id, [matches[0]?.id ?? ''], true);
    assert.deepEqual(await found({ q: 'cafe', unread: '1' }), ['Café öffnet']);
  });

  test('continues where it stopped, so that every match is found once', async () => {
    const all: InboxEntry[] = [];
    const sizes: number[] = [];
    for (let before: string | null = ''; before !== null; ) {
      const { matches, last } = await search(client, { q: '99', limit: '7', ...(before !== '' && { before }) });
      assert.equal(last.kind, 'end');
      all.push(...matches);
      sizes.push(matches.length);
      before = last.kind === 'end' ? last.next : null;
    }
    const wanted = Array.from({ length: rows }, (_, count) => `number ${count}`).filter((body) => body.includes('99'));
    assert.deepEqual(all.map(({ body }) => body).sort(), wanted.sort());
    const ids = all.map(({ id }) => id);
    assert.deepEqual(ids, [...ids].sort().reverse(), 'newest first');
    assert.ok(sizes.slice(0, -1).every((size) => size === 7));
    const first = await search(client, { q: 'offnet', limit: '1' });
    assert.deepEqual(first.last.kind === 'end' && first.last.next, null, 'the oldest match ends the search');
  });

  test('reports its progress at least twice a second, also while the store is slow', async () => {
    beforeRead = (count) => delay(count === 2 ? 1300 : 0);
    const { progress, last } = await search(client, { q: 'nothing has this' });
    assert.ok(progress.length >= 2, `${progress.length} times`);
    assert.equal(progress[0]?.opened, 50);
    assert.ok(Math.abs((progress[0]?.reachedAt ?? 0) - Date.now()) < 60_000);
    assert.equal(last.kind, 'end');
  });

  test('stops reading when its connection is closed', async () => {
    beforeRead = () => delay(30);
    const cancel = new AbortController();
    const response = await client.fetch(`${path}?q=nothing+has+this`, { signal: cancel.signal });
    // Right after a progress event, with the next one far away, only the closed connection can end the search.
    await response.body?.getReader().read();
    cancel.abort();
    const readsThen = laterReads;
    // Its slot is free once two other searches start, which need one page each.
    const two = () => Promise.allSettled([search(client, { limit: '1' }), search(client, { limit: '1' })]);
    await eventually('the search has ended', 2000, two, (both) => both.every(({ status }) => status === 'fulfilled'));
    assert.ok(laterReads - readsThen <= 2, `${laterReads - readsThen} more pages were read`);
  });

  test('is refused while two searches of the owner are running', async () => {
    const gate = Promise.withResolvers<void>();
    beforeRead = () => gate.promise;
    // Each reports that it is running, also the one that waits for its turn.
    const running = await Promise.all([client.fetch(`${path}?limit=1`), client.fetch(`${path}?limit=1`)]);
    const third = await client.fetch(path, { signal: AbortSignal.timeout(2000) });
    assert.deepEqual([third.status, ((await third.json()) as ConsoleError).code], [429, 'rate_limited']);
    gate.resolve();
    for (const response of running) assert.match(await response.text(), /"kind":"end"/);
    await eventually(
      'a slot is free again',
      2000,
      () => client.fetch(`${path}?limit=1`),
      ({ status }) => status === 200,
    );
  });

  test('leaves time for other requests: all searches share one queue with pauses', async () => {
    let atOnce = 0;
    let most = 0;
    const times: number[] = [];
    beforeRead = async () => {
      most = Math.max(most, ++atOnce);
      times.push(performance.now());
      await delay(50);
      times.push(performance.now());
      atOnce -= 1;
    };
    await Promise.all([search(client, { limit: '1' }), search(client, { limit: '1' })]);
    assert.equal(most, 1);
    const [begun = 0, ended = 0, next = 0] = times;
    assert.ok(next - ended >= (ended - begun) * 0.9, `${next - ended} ms after ${ended - begun} ms`);
  });

  test('reports a failure of the store after the matches found so far', async () => {
    beforeRead = async (count) => {
      if (count === 2) throw new StoreUnavailable('locked');
    };
    const away = await search(client, { q: 'cafe' });
    assert.deepEqual([away.matches.map(({ title }) => title), away.last.kind], [['Last cafe'], 'failed']);
    assert.match(away.last.kind === 'failed' ? away.last.error : '', /Try again/);
    assert.deepEqual(local.failures, []);

    reads = 0;
    beforeRead = async (count) => {
      if (count === 2) throw new Error('a fault of ours, with a secret');
    };
    const faulty = await search(client, { q: 'cafe' });
    assert.equal(faulty.last.kind, 'failed');
    assert.doesNotMatch(JSON.stringify(faulty.last), /secret/);
    assert.equal(local.failures.length, 1);
  });

  test('reads only as fast as the client does', async () => {
    const data = { blob: 'x'.repeat(240_000) };
    for (let count = 0; count < 100; count += 1) await save({ title: 'Heavy', data });
    reads = 0;
    const response = await client.fetch(`${path}?q=heavy&limit=100`);
    let last = -1;
    const isStill = (count: number): boolean => {
      const wasStill = count === last;
      last = count;
      return wasStill;
    };
    const settled = async (): Promise<number> => delay(200, reads).then(() => reads);
    const stalled = await eventually('it waits', 5000, settled, isStill);
    assert.ok(stalled < 4, `${stalled} pages were read for a client that consumes nothing`);
    const text = await response.text();
    assert.equal(text.split('\n').filter((line) => line.startsWith('{"kind":"match"')).length, 100);
    assert.ok(reads > stalled, 'and then it continues');
  });
});
