// The contract of the inbox repository (usecases/ports/inbox.ts). Each backend runs this suite.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import type { StoreFixture } from '@tocsin/test-support/store-fixture.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import type { InboxItem } from '../src/usecases/ports/inbox.ts';
import type { ApiKey, Delivery, Notification, Store } from '../src/usecases/ports/index.ts';

const [ann, bob] = ['own_ann', 'own_bob'];

export function runInboxContract(name: string, createFixture: () => Promise<StoreFixture>): void {
  suite(`An inbox in the ${name} store`, () => {
    let fixture: StoreFixture;
    let store: Store;
    let time: number;
    let newId: () => string;

    beforeEach(async () => {
      fixture = await createFixture();
      store = await fixture.open();
      time = 1_800_000_000_000;
      newId = createUuidV7Source(() => time, randomUUID);
      for (const id of [ann, bob]) await store.owners.create(plainOwner(id, time));
    });
    afterEach(async () => {
      await store.close();
      await fixture.remove();
    });

    /** Ids, oldest first. */
    async function fill(ownerId: string, count: number): Promise<string[]> {
      const ids: string[] = [];
      for (let index = 0; index < count; index += 1) {
        ids.push(newId());
        await store.notifications.save({
          id: ids.at(-1) as string,
          ownerId,
          createdAt: time,
          content: {
            title: `Number ${index}`,
            body: 'Body',
            source: 'test',
            category: 'task',
            severity: 'critical',
            data: { list: [1, null] },
          },
        });
      }
      return ids;
    }

    async function pages(ownerId: string, limit: number, unreadOnly = false): Promise<InboxItem[][]> {
      const found: InboxItem[][] = [];
      for (let before: string | undefined; ; ) {
        const page = await store.inbox.list(ownerId, { limit, unreadOnly, ...(before !== undefined && { before }) });
        assert.deepEqual(page.damaged, []);
        found.push(page.items);
        before = page.next;
        if (before === undefined) return found;
      }
    }

    const listed = async (ownerId: string, unreadOnly = false): Promise<string[]> =>
      (await pages(ownerId, 100, unreadOnly)).flat().map(({ id }) => id);

    async function generationOf(ownerId: string): Promise<number> {
      const [news] = await store.inbox.readNews([{ ownerId, after: '' }], 0);
      return news?.generation as number;
    }

    /** Checks that an action changes nothing in the inbox of an owner. */
    async function assertUnchanged(ownerId: string, act: () => Promise<unknown>): Promise<void> {
      const before = [
        await pages(ownerId, 100),
        await store.inbox.countUnread(ownerId, 100),
        await generationOf(ownerId),
      ];
      await act();
      assert.deepEqual(
        [await pages(ownerId, 100), await store.inbox.countUnread(ownerId, 100), await generationOf(ownerId)],
        before,
      );
    }

    test('lists notifications newest first, in pages, unread at first', async () => {
      const ids = await fill(ann, 7);
      await fill(bob, 2);
      const [first, second, third, ...rest] = await pages(ann, 3);
      assert.deepEqual(
        [first, second, third].map((page) => page?.map(({ id }) => id)),
        [ids.slice(4).toReversed(), ids.slice(1, 4).toReversed(), ids.slice(0, 1)],
      );
      assert.deepEqual(rest, []);
      const [oldest] = third as [InboxItem];
      const { isRead, ...notification } = oldest;
      assert.equal(isRead, false);
      assert.deepEqual(notification, await store.notifications.find(ann, ids[0] as string));
      assert.deepEqual(await store.inbox.find(ann, ids[0] as string), oldest);
      assert.equal(await store.inbox.countUnread(ann, 100), 7);
      assert.equal(await store.inbox.countUnread(ann, 5), 5);
    });

    test('is searched in pages, newest first, up to the requested number of matches', async () => {
      const ids = await fill(ann, 12);
      await fill(bob, 2);
      await store.inbox.markRead(ann, [ids[10] as string], true);
      const never = new AbortController().signal;
      const terms = { query: 'number 0', severities: ['critical'], categories: null };
      const first = await store.inbox.search(ann, { limit: 10, terms, mostMatches: 5 }, never);
      const expected = [ids[10] as string];
      assert.deepEqual([first.matches.map(({ id }) => id), first.searched, first.next], [expected, 10, ids[2]]);
      assert.deepEqual(
        first.matches[0],
        { ...(await store.notifications.find(ann, expected[0] as string)), isRead: true },
        'whole',
      );
      const rest = { limit: 10, terms, mostMatches: 5, before: first.next as string };
      const second = await store.inbox.search(ann, rest, never);
      assert.deepEqual([second.matches.map(({ id }) => id), second.searched, second.next], [[ids[0]], 2, undefined]);
      const one = await store.inbox.search(ann, { limit: 10, terms, mostMatches: 1 }, never);
      assert.deepEqual([one.matches.length, one.searched, one.next], [1, 2, ids[10]]);
      const none = { ...terms, severities: ['none'] };
      assert.deepEqual((await store.inbox.search(ann, { limit: 50, terms: none, mostMatches: 5 }, never)).matches, []);
    });

    test('ends a page of large notifications early, and continues on the next page', async () => {
      const blob = 'x'.repeat(1_500_000);
      const ids: string[] = [];
      for (let count = 0; count < 5; count += 1) {
        ids.unshift(newId());
        await store.notifications.save({
          id: ids[0] as string,
          ownerId: ann,
          createdAt: time,
          content: sampleContent({ title: 'Large', data: { blob } }),
        });
      }
      const found = await pages(ann, 100);
      assert.deepEqual(
        found.flat().map(({ id }) => id),
        ids,
      );
      assert.deepEqual(
        found.map(({ length }) => length),
        [2, 2, 1],
      );
    });

    test('keeps read and unread marks across pages, and filters by them', async () => {
      const ids = await fill(ann, 30);
      const at = (index: number): string => ids[index] as string;
      await store.inbox.markRead(ann, [at(3), at(5), at(29)], true);
      await store.inbox.markAllRead(ann, at(14));
      // On both sides of the read position.
      await store.inbox.markRead(ann, [at(0), at(2), at(4), at(9), at(14)], false);
      await store.inbox.markRead(ann, [at(16), at(20), at(21)], true);
      await store.inbox.markRead(ann, [at(21), at(25)], false);
      await store.inbox.delete(ann, [at(2), at(18), at(29)], time);
      const unread = ids.filter((_, index) => {
        if ([2, 18, 29].includes(index)) return false;
        return index <= 14 ? [0, 4, 9, 14].includes(index) : ![16, 20].includes(index);
      });
      const inPages = await pages(ann, 4, true);
      assert.deepEqual(
        inPages.flat().map(({ id }) => id),
        unread.toReversed(),
      );
      assert.ok(inPages.length > 3 && inPages.every((page) => page.every(({ isRead }) => !isRead)));
      assert.equal(await store.inbox.countUnread(ann, 100), unread.length);
      assert.equal(await store.inbox.countUnread(ann, 3), 3);
      const readOnes = (await pages(ann, 7)).flat().filter(({ isRead }) => isRead);
      assert.equal(readOnes.length, 27 - unread.length);
      assert.equal((await store.inbox.find(ann, at(9)))?.isRead, false);
      assert.equal((await store.inbox.find(ann, at(10)))?.isRead, true);
    });

    test('marks all older notifications read, never fewer than before, and no later ones', async () => {
      const ids = await fill(ann, 6);
      const [first, , third, , fifth, last] = ids as [string, string, string, string, string, string];
      await store.inbox.markAllRead(ann, fifth);
      assert.deepEqual(await listed(ann, true), [last]);
      await store.inbox.markRead(ann, [first, third], false);
      await store.inbox.markAllRead(ann, first);
      assert.deepEqual(await listed(ann, true), [last, third]);
      await store.inbox.markAllRead(ann, third);
      assert.deepEqual(await listed(ann, true), [last]);
      await assertUnchanged(ann, () => store.inbox.markAllRead(bob, last));
      await store.inbox.markAllRead(ann, newId());
      assert.deepEqual(await listed(ann, true), [last], 'an unknown id is ignored');
      const [late] = await fill(ann, 1);
      assert.deepEqual(await listed(ann, true), [late, last]);
    });

    test('undoes the last "mark all read" exactly, and keeps later marks', async () => {
      const ids = await fill(ann, 12);
      const at = (index: number): string => ids[index] as string;
      await store.inbox.markAllRead(ann, at(5));
      await store.inbox.markRead(ann, [at(1), at(4)], false);
      await store.inbox.markRead(ann, [at(7), at(9)], true);
      await store.inbox.delete(ann, [at(4), at(9)], time);
      const before = await listed(ann, true);
      assert.deepEqual(before, [at(11), at(10), at(8), at(6), at(1)]);

      await store.inbox.markAllRead(ann, at(10));
      assert.deepEqual(await listed(ann, true), [at(11)]);
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(5)), false, 'an earlier one');
      assert.equal(await store.inbox.undoMarkAllRead(ann, newId()), false, 'none');
      await assertUnchanged(ann, async () => {
        assert.equal(await store.inbox.undoMarkAllRead(bob, at(10)), false, 'of another owner');
      });
      assert.deepEqual(await listed(ann, true), [at(11)]);
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(10)), true);
      assert.deepEqual(await listed(ann, true), before);
      assert.equal(await store.inbox.countUnread(ann, 100), before.length);
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(10)), false, 'once');
      await store.inbox.restore(ann, [at(4), at(9)]);
      assert.equal((await store.inbox.find(ann, at(4)))?.isRead, false);
      assert.equal((await store.inbox.find(ann, at(9)))?.isRead, true);

      // Below the read position, where only marks change.
      await store.inbox.markRead(ann, [at(6), at(8), at(10), at(11)], true);
      await store.inbox.markAllRead(ann, at(4));
      assert.deepEqual(await listed(ann, true), []);
      await store.inbox.markRead(ann, [at(4)], true);
      await store.inbox.markRead(ann, [at(3)], false);
      await store.inbox.delete(ann, [at(1)], time);
      await store.inbox.restore(ann, [at(1)]);
      const [late] = await fill(ann, 1);
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(4)), true);
      assert.deepEqual(await listed(ann, true), [late, at(3), at(1)]);
    });

    test('undoes a "mark all read" that was requested twice, or was followed by one without effect', async () => {
      const ids = await fill(ann, 6);
      const at = (index: number): string => ids[index] as string;
      await store.inbox.markRead(ann, [at(1)], true);
      const before = await listed(ann, true);
      for (const repeated of [at(5), at(5), at(3), newId()]) await store.inbox.markAllRead(ann, repeated);
      assert.deepEqual(await listed(ann, true), []);
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(3)), false, 'it marked nothing');
      assert.deepEqual(await listed(ann, true), []);
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(5)), true);
      assert.deepEqual(await listed(ann, true), before);
      assert.equal((await store.inbox.find(ann, at(1)))?.isRead, true);

      // Marks that were set between the two.
      await store.inbox.markAllRead(ann, at(5));
      await store.inbox.markRead(ann, [at(0)], true);
      await store.inbox.markAllRead(ann, at(5));
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(5)), true);
      assert.deepEqual(await listed(ann, true), before.slice(0, -1), 'notifications read since then stay read');
      await store.inbox.markAllRead(ann, at(5));
      await store.inbox.markRead(ann, [at(2)], false);
      await store.inbox.markAllRead(ann, at(5));
      assert.deepEqual(await listed(ann, true), []);
      assert.equal(await store.inbox.undoMarkAllRead(ann, at(5)), true);
      assert.deepEqual(await listed(ann, true), [at(2)], 'the last one marked only that');
    });

    test('hides deleted notifications at once, and restores them as they were', async () => {
      const ids = await fill(ann, 5);
      const [first, second, third, fourth, fifth] = ids as [string, string, string, string, string];
      await store.inbox.markRead(ann, [second], true);
      assert.equal(await store.inbox.delete(ann, [second, third, newId()], time), 2);
      assert.equal(
        await store.inbox.delete(ann, [third, fourth], time + 1),
        1,
        'deleted notifications are not deleted again',
      );
      assert.deepEqual(await listed(ann), [fifth, first]);
      assert.deepEqual(await listed(ann, true), [fifth, first]);
      assert.equal(await store.inbox.countUnread(ann, 100), 2);
      assert.equal(await store.inbox.find(ann, third), null);
      assert.equal(await store.inbox.restore(ann, [first, second, third]), 2);
      assert.equal(await store.inbox.restore(ann, [second, third]), 0);
      assert.deepEqual(await listed(ann), [fifth, third, second, first]);
      assert.equal((await store.inbox.find(ann, second))?.isRead, true);
      assert.equal((await store.inbox.find(ann, third))?.isRead, false);
    });

    test('restores a notification as read if all were marked read after its deletion', async () => {
      const [first, second] = (await fill(ann, 2)) as [string, string];
      await store.inbox.markRead(ann, [first], false);
      await store.inbox.delete(ann, [first], time);
      await store.inbox.markAllRead(ann, second);
      await store.inbox.restore(ann, [first]);
      assert.equal((await store.inbox.find(ann, first))?.isRead, true);
      assert.equal(await store.inbox.countUnread(ann, 10), 0);
    });

    test('ignores the ids of another owner', async () => {
      const ids = await fill(ann, 3);
      await store.inbox.delete(ann, ids.slice(0, 1), time);
      await assertUnchanged(ann, async () => {
        await store.inbox.markRead(bob, ids, true);
        await store.inbox.markAllRead(bob, ids[2] as string);
        assert.equal(await store.inbox.delete(bob, ids, time), 0);
        assert.equal(await store.inbox.restore(bob, ids), 0);
        assert.equal(await store.inbox.find(bob, ids[1] as string), null);
      });
      assert.deepEqual(await listed(bob), []);
      await fill(bob, 1);
      assert.equal(await store.inbox.countUnread(bob, 10), 1);
    });

    test('changes nothing without ids', async () => {
      await fill(ann, 1);
      await assertUnchanged(ann, async () => {
        await store.inbox.markRead(ann, [], true);
        assert.equal(await store.inbox.delete(ann, [], time), 0);
        assert.equal(await store.inbox.restore(ann, []), 0);
        assert.deepEqual(await store.inbox.readNews([], 5), []);
      });
    });

    test('reads new notifications and changes of several inboxes at once', async () => {
      const annIds = await fill(ann, 5);
      const bobIds = await fill(bob, 2);
      const after = annIds[1] as string;
      const questions = [
        { ownerId: ann, after },
        { ownerId: bob, after: '' },
        { ownerId: 'own_missing', after: '' },
      ];
      const news = await store.inbox.readNews(questions, 2);
      assert.deepEqual(
        news.toSorted((a, b) => (a.ownerId < b.ownerId ? -1 : 1)),
        [
          { ownerId: ann, generation: 0, arrived: annIds.slice(2, 4) },
          { ownerId: bob, generation: 0, arrived: bobIds },
          { ownerId: 'own_missing', generation: 0, arrived: [] },
        ],
      );
      let last = 0;
      const grows = async (change: () => Promise<unknown>): Promise<void> => {
        await change();
        const generation = await generationOf(ann);
        assert.ok(generation > last, change.toString());
        last = generation;
      };
      await grows(() => store.inbox.markRead(ann, annIds.slice(0, 1), true));
      await grows(() => store.inbox.markRead(ann, annIds.slice(0, 1), false));
      await grows(() => store.inbox.markAllRead(ann, after));
      await grows(() => store.inbox.delete(ann, [after], time));
      await grows(() => store.inbox.restore(ann, [after]));
      assert.equal(await generationOf(bob), 0);
    });

    test('handles concurrent changes of one inbox', async () => {
      const ids = await fill(ann, 20);
      const other = await fixture.open();
      try {
        await Promise.all(
          Array.from({ length: 10 }, (_, index) => {
            const each = index % 2 === 0 ? store : other;
            return each.inbox.markRead(ann, index % 3 === 0 ? ids : ids.toReversed(), true);
          }),
        );
        assert.equal(await store.inbox.countUnread(ann, 100), 0);
        assert.equal(await generationOf(ann), 10);
      } finally {
        await other.close();
      }
    });

    const delivery = (notificationId: string): Delivery => ({
      ownerId: ann,
      notificationId,
      channel: 'email',
      target: '',
      state: 'waiting',
      attempts: 0,
      qos: 1,
      createdAt: time,
      nextAt: time,
      notBefore: 0,
      expiresAt: time + 1000,
      endedAt: null,
      error: 'Error',
    });
    const dispatch = { qos: 1, isStrict: false, push: [], email: true, mqtt: [] } as const;

    test('purges deleted notifications with their delivery status, and nothing else', async () => {
      const ids = await fill(ann, 1210);
      const [kept, delivered] = [ids.at(-1) as string, newId()];
      const notification = await store.notifications.find(ann, kept);
      assert.ok(notification);
      await store.notifications.save(
        { ...notification, id: delivered },
        { dispatch, idempotency: null, leaseUntil: time },
      );
      const results = { push: [], email: ['retry'], mqtt: [] } as const;
      await store.dispatches.settle([
        { ownerId: ann, notificationId: delivered, results, failed: [delivery(delivered)] },
      ]);
      await store.inbox.delete(ann, [...ids.slice(0, 1205), delivered], time);
      await store.inbox.delete(ann, [ids[1206] as string], time + 10);
      assert.equal(await store.inbox.purgeDeleted(time), 0);
      assert.equal(await store.inbox.purgeDeleted(time + 1), 1206);
      assert.equal(await store.inbox.purgeDeleted(time + 1), 0);
      assert.equal(await store.notifications.find(ann, delivered), null);
      assert.equal(await store.dispatches.find(ann, delivered), null);
      assert.deepEqual(await store.deliveries.list({ ownerId: ann, limit: 10 }), []);
      assert.equal(await store.inbox.restore(ann, [delivered, ids[0] as string, ids[1206] as string]), 1);
      assert.deepEqual(await listed(ann), ids.slice(1205).toReversed());
      assert.deepEqual(await store.maintenance.verify(), []);
    });

    test('purges old notifications of one owner, with their marks', async () => {
      const old = await fill(ann, 3);
      await fill(bob, 1);
      await store.inbox.markRead(ann, old, true);
      await store.inbox.delete(ann, old.slice(0, 1), time);
      time += 1000;
      const [fresh] = await fill(ann, 1);
      assert.equal(await store.inbox.purge(ann, time), 3);
      assert.equal(await store.inbox.purge(ann, time), 0);
      assert.deepEqual(await listed(ann), [fresh]);
      assert.equal((await listed(bob)).length, 1);
      assert.equal(await store.inbox.restore(ann, old), 0, 'no mark is left');
    });

    test('returns the totals of each owner', async () => {
      assert.deepEqual(await store.owners.totals(), [
        { ownerId: ann, keys: 0, devices: 0, pushTargets: 0, waiting: 0, dead: 0, newestAt: null },
        { ownerId: bob, keys: 0, devices: 0, pushTargets: 0, waiting: 0, dead: 0, newestAt: null },
      ]);
      const key: Omit<ApiKey, 'id' | 'digest'> = {
        ownerId: ann,
        type: 'internal_service',
        label: null,
        allowedDomains: [],
        requireSignature: false,
        rateLimit: null,
        createdAt: time,
        expiresAt: null,
        revokedAt: null,
        irregular: false,
      };
      for (const id of ['key_1', 'key_2', 'key_3']) await store.keys.create({ ...key, id, digest: `digest of ${id}` });
      await store.keys.revoke('key_2', time);
      const device = { id: 'dev_1', ownerId: ann, name: 'Phone', state: 'active', paused: false } as const;
      await store.devices.create({ ...device, createdAt: time, seenAt: null }, 'digest');
      const target = { ownerId: ann, provider: 'fcm', token: 'token', label: null, disabledAt: null } as const;
      await store.pushTargets.create({ ...target, id: 'push_1', createdAt: time });
      const [first] = await fill(ann, 1);
      const template = (await store.notifications.find(ann, first as string)) as Notification;
      for (const state of ['waiting', 'dead', 'dead'] as const) {
        time += 5;
        const id = newId();
        await store.notifications.save(
          { ...template, id, createdAt: time },
          { dispatch, idempotency: null, leaseUntil: time },
        );
        const failed = [{ ...delivery(id), state, nextAt: state === 'dead' ? null : time }];
        const results = { push: [], email: ['retry'], mqtt: [] } as const;
        await store.dispatches.settle([{ ownerId: ann, notificationId: id, results, failed }]);
      }
      assert.deepEqual(await store.owners.totals(), [
        { ownerId: ann, keys: 2, devices: 1, pushTargets: 1, waiting: 1, dead: 2, newestAt: time },
        { ownerId: bob, keys: 0, devices: 0, pushTargets: 0, waiting: 0, dead: 0, newestAt: null },
      ]);
    });

    test('deletes all rows of an inbox with its owner', async () => {
      const ids = await fill(ann, 3);
      await store.inbox.markAllRead(ann, ids[0] as string);
      await store.inbox.delete(ann, ids.slice(1), time);
      await store.owners.delete(ann);
      assert.equal(await generationOf(ann), 0);
      assert.equal(await store.inbox.restore(ann, ids), 0);
      assert.equal(await generationOf(ann), 0, 'and no row is created again');
    });
  });
}
