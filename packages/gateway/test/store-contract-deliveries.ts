// The contract of the store for dispatches, deliveries, target queues and idempotency keys. Each backend runs this suite.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import type { StoreFixture } from '@tocsin/test-support/store-fixture.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import {
  type Delivery,
  type Dispatch,
  EncryptionKeyMissing,
  type Notification,
  type Store,
  type TargetQueue,
} from '../src/usecases/ports/index.ts';

const ownerId = 'own_ann';
const lease = 20_000;
const dayMs = 86_400_000;

export function runDeliveryContract(name: string, createFixture: () => Promise<StoreFixture>): void {
  suite(`The ${name} store, deliveries`, () => {
    let fixture: StoreFixture;
    let store: Store;
    let opened: Store[];
    let time: number;
    let newId: () => string;

    beforeEach(async () => {
      fixture = await createFixture();
      opened = [];
      store = await openAnother();
      time = 1_800_000_000_000;
      newId = createUuidV7Source(() => time, randomUUID);
      for (const id of [ownerId, 'own_bob']) {
        await store.owners.create(plainOwner(id, time));
      }
    });
    afterEach(async () => {
      await Promise.all(opened.map((each) => each.close()));
      await fixture.remove();
    });

    async function openAnother(): Promise<Store> {
      const another = await fixture.open();
      opened.push(another);
      return another;
    }

    const dispatch: Dispatch = { qos: 1, isStrict: false, push: ['psh_1'], email: true, mqtt: ['dev_1', 'dev_2'] };
    const allSent = { push: ['sent'], email: ['sent'], mqtt: ['sent', 'sent'] } as const;

    const notification = (owner = ownerId): Notification => ({
      id: newId(),
      ownerId: owner,
      createdAt: time,
      content: sampleContent(),
    });

    async function saveDispatched(owner = ownerId): Promise<Notification> {
      const saved = notification(owner);
      await store.notifications.save(saved, { dispatch, idempotency: null, leaseUntil: time + lease });
      return saved;
    }

    const waiting = (notificationId: string, more: Partial<Delivery> = {}): Delivery => ({
      ownerId,
      notificationId,
      channel: 'mqtt',
      target: 'dev_1',
      state: 'waiting',
      attempts: 0,
      qos: 1,
      createdAt: time,
      nextAt: time + 5000,
      notBefore: 0,
      expiresAt: time + dayMs,
      endedAt: null,
      error: 'The MQTT broker is not reachable at the moment',
      ...more,
    });

    /** A notification that failed for the targets of these queues. */
    async function fail(...more: Partial<Delivery>[]): Promise<Delivery[]> {
      const { id } = await saveDispatched(more[0]?.ownerId);
      const failed = more.map((each) => waiting(id, each));
      await store.dispatches.settle([
        { ownerId: more[0]?.ownerId ?? ownerId, notificationId: id, results: allSent, failed },
      ]);
      return failed;
    }

    async function claimOne(at = time + 5000): Promise<TargetQueue> {
      const [lane, ...others] = await store.targetQueues.claim(at, at + lease, 10);
      assert.ok(lane);
      assert.deepEqual(others, []);
      return lane;
    }

    test('stores a dispatch with its notification until it is settled', async () => {
      const { id } = await saveDispatched();
      assert.deepEqual(await store.dispatches.find(ownerId, id), { dispatch, results: null });
      await store.dispatches.settle([{ ownerId, notificationId: id, results: allSent, failed: [] }]);
      assert.deepEqual(await store.dispatches.find(ownerId, id), { dispatch, results: allSent });
      assert.deepEqual(await store.dispatches.claim(time + 2 * lease, time + 3 * lease, 10), []);
      const untold = notification();
      await store.notifications.save(untold);
      assert.equal(await store.dispatches.find(ownerId, untold.id), null);
      assert.equal(await store.dispatches.find('own_bob', id), null);
    });

    test('lets one other process claim an orphaned dispatch, in the order of acceptance', async () => {
      const first = await saveDispatched();
      const second = await saveDispatched();
      assert.deepEqual(
        await store.dispatches.claim(time + lease - 1, time + 2 * lease, 10),
        [],
        'its process may be alive',
      );
      const others = await Promise.all([openAnother(), openAnother()]);
      const claims = await Promise.all(
        [store, ...others].map((each) => each.dispatches.claim(time + lease, time + 2 * lease, 10)),
      );
      const claimed = claims.flat();
      assert.deepEqual(
        claimed.map(({ notificationId }) => notificationId).sort(),
        [first.id, second.id],
        'each by one process',
      );
      assert.deepEqual(claimed[0], { ownerId, notificationId: claimed[0]?.notificationId, dispatch });
      assert.deepEqual(await store.dispatches.claim(time + 2 * lease - 1, time + 3 * lease, 10), [], 'held again');
      assert.equal(
        (await store.dispatches.claim(time + 2 * lease, time + 3 * lease, 1)).length,
        1,
        'claimed again after the lease expired',
      );
    });

    test('treats a lease longer than the maximum as expired, for dispatches and queues', async () => {
      const { id } = await saveDispatched();
      await fail({});
      await claimOne();
      const dayBefore = time - dayMs;
      const claimed = await store.dispatches.claim(dayBefore, dayBefore + lease, 10);
      assert.deepEqual(
        claimed.map(({ notificationId }) => notificationId),
        [id],
      );
      assert.deepEqual(await store.dispatches.claim(dayBefore, dayBefore + lease, 10), [], 'held again');
      assert.equal((await store.targetQueues.claim(dayBefore, dayBefore + lease, 10)).length, 1);
      assert.deepEqual(await store.targetQueues.claim(dayBefore, dayBefore + lease, 10), [], 'held again');
    });

    test('respects a lease within the clock skew', async () => {
      await saveDispatched();
      assert.deepEqual(await store.dispatches.claim(time - 30_000, time, 10), []);
    });

    test('lets a process that is alone claim all dispatches', async () => {
      const { id } = await saveDispatched();
      const [claimed] = await store.dispatches.claim(time, time + lease, 10, 'all');
      assert.equal(claimed?.notificationId, id);
    });

    test('returns the newest notification with a waiting delivery', async () => {
      assert.equal(await store.deliveries.newestWaiting(), null);
      await fail({});
      const [newest] = await fail({});
      await fail({ state: 'dead', nextAt: null, endedAt: time });
      assert.equal(await store.deliveries.newestWaiting(), newest?.notificationId);
    });

    test('expires all leases for a process that is alone, and makes their queues due', async () => {
      await fail({});
      await claimOne();
      const saved = notification();
      const idempotency = { keyDigest: 'a'.repeat(64), fingerprint: 'f', expiresAt: time + dayMs };
      await store.notifications.save(saved, { dispatch, idempotency, leaseUntil: time + lease });
      assert.deepEqual(await store.targetQueues.claim(time + 6000, time + lease, 10), []);
      await store.targetQueues.expireLeases(time + 6000);
      assert.equal((await store.idempotency.find(ownerId, idempotency.keyDigest, time))?.leaseUntil, 0);
      await claimOne(time + 6000);
    });

    test('makes deliveries due that a clock running ahead has created, without an earlier expiry', async () => {
      const [ahead] = await fail({ notBefore: time + 5000 });
      const now = time - dayMs;
      assert.deepEqual(await store.targetQueues.list(now), []);
      await store.targetQueues.resetTimesAhead(time);
      assert.deepEqual(await store.targetQueues.list(now), [], 'nothing is ahead of a clock that agrees');
      await store.targetQueues.resetTimesAhead(now);
      assert.equal((await store.targetQueues.list(now)).length, 1);
      const lane = await claimOne(now);
      const [delivery] = await store.deliveries.listWaiting(lane, { now, limit: 10 });
      assert.equal(delivery?.notificationId, ahead?.notificationId);
      assert.deepEqual([delivery?.createdAt, delivery?.nextAt], [now, now]);
      assert.equal(delivery?.expiresAt, ahead?.expiresAt, 'it may be this clock that is wrong');
    });

    test('attempts a strict delivery once, also after a clock ran ahead', async () => {
      await fail({ nextAt: time, expiresAt: time });
      const now = time - dayMs;
      await store.targetQueues.resetTimesAhead(now);
      const lane = await claimOne(now);
      const dead = await store.targetQueues.postponeDue(lane, now, {
        delaysMs: [1, 1],
        minAttempts: 5,
        notBefore: now,
      });
      assert.deepEqual(
        dead.map(({ state }) => state),
        ['dead'],
      );
    });

    test('makes an attempt due whose time a clock running ahead has set', async () => {
      // Attempted once while the clock was two days ahead.
      const [tried] = await fail({ nextAt: time + 2 * dayMs, notBefore: time + 2 * dayMs - 5000 });
      assert.deepEqual(await store.targetQueues.claim(time, time + lease, 10), []);
      await store.targetQueues.resetTimesAhead(time);
      const lane = await claimOne(time);
      assert.deepEqual(await store.deliveries.listWaiting(lane, { now: time, limit: 10 }), [
        { ...tried, nextAt: time, notBefore: time },
      ]);
    });

    test('after the clock was set back, makes deliveries due except those that their provider delayed', async () => {
      const anyTime = { notBefore: time + 3_000_000, nextAt: time + 3_600_000 };
      const [hidden] = await fail(anyTime);
      await fail({ target: 'dev_2', notBefore: time + 3_600_000, nextAt: time + 3_600_000 });
      await store.targetQueues.resetTimesAhead(time);
      assert.deepEqual(await store.targetQueues.list(time), []);
      await store.targetQueues.resetTimesAhead(time, { wasSetBack: true });
      assert.deepEqual(await store.targetQueues.list(time), [{ ownerId, channel: 'mqtt', target: hidden?.target }]);
    });

    test('appends a delivery to the queue of its target, only if a delivery waits there', async () => {
      const newcomer = waiting((await saveDispatched()).id);
      assert.equal(await store.targetQueues.join(newcomer, time, false), 'none');
      assert.deepEqual(await store.deliveries.list({ ownerId, limit: 10 }), [], 'no queue is created');
      const [first] = await fail({});
      const { channel, target } = newcomer;
      assert.deepEqual(await store.targetQueues.list(time), [{ ownerId, channel, target }]);
      assert.equal(await store.targetQueues.hasWaiting(newcomer, time), true);
      assert.equal(await store.targetQueues.hasWaiting({ ...newcomer, target: 'dev_2' }, time), false);
      assert.equal(await store.targetQueues.join(newcomer, time, false), 'joined');
      assert.equal(await store.targetQueues.join({ ...newcomer, target: 'dev_2' }, time, false), 'none');
      assert.equal(await store.deliveries.countWaiting(ownerId), 2);
      const lane = await claimOne();
      const ids = (await store.deliveries.listWaiting(lane, { now: time, limit: 10 })).map(
        (each) => each.notificationId,
      );
      assert.deepEqual(ids, [newcomer.notificationId, first?.notificationId].sort(), 'in the order of acceptance');
    });

    test('does not join a queue whose only delivery was delayed by its provider', async () => {
      await fail({ notBefore: time + 1 });
      const newcomer = waiting((await saveDispatched()).id);
      assert.equal(await store.targetQueues.join(newcomer, time, false), 'none');
      assert.equal(await store.targetQueues.join(newcomer, time + 1, false), 'joined');
    });

    test('lets a delivery join a closing queue only if it insists, and keeps a queue that was joined', async () => {
      await fail({});
      const held = await claimOne();
      const newcomers = [waiting((await saveDispatched()).id), waiting((await saveDispatched()).id)] as const;
      const closing = (await store.targetQueues.extend(held, held.leaseUntil + 1, true)) as TargetQueue;
      assert.equal(await store.targetQueues.isClosing(held), true);
      assert.equal(await store.targetQueues.join(newcomers[0], time, false), 'closing');
      assert.equal(await store.targetQueues.join(newcomers[0], time, true), 'joined');
      assert.equal(await store.targetQueues.isClosing(held), false);
      assert.equal(await store.targetQueues.release(closing, { ifNothingSince: time }), false);
      const both = await store.deliveries.listWaiting(held, { now: time, limit: 10 });
      assert.equal(both.length, 2);
      const sent = both.map((each): Delivery => ({ ...each, state: 'sent', nextAt: null, endedAt: time }));
      await store.deliveries.update(sent);
      assert.equal(await store.targetQueues.release(closing, { ifNothingSince: time }), true);
      assert.equal(await store.targetQueues.join(newcomers[1], time, false), 'none', 'it has ended');
    });

    test('serializes a join with the concurrent end of the queue', async () => {
      const other = await openAnother();
      for (let round = 0; round < 10; round += 1) {
        const [only] = await fail({});
        const lane = await claimOne();
        await store.deliveries.update([{ ...(only as Delivery), state: 'sent', nextAt: null, endedAt: time }]);
        const newcomer = waiting((await saveDispatched()).id);
        const [isReleased, joined] = await Promise.all([
          store.targetQueues.release(lane, { ifNothingSince: time }),
          other.targetQueues.join(newcomer, time, false),
        ]);
        assert.deepEqual([isReleased, joined], [true, 'none'], 'the queue is empty, so it is not joined');
      }
    });

    test('queues deliveries that are still being sent in a queue that is held', async () => {
      const { id } = await saveDispatched();
      const leaseUntil = time + lease;
      const sending = { deliveries: [waiting(id, { nextAt: leaseUntil })], leaseUntil };
      await store.dispatches.settle([{ ownerId, notificationId: id, results: allSent, failed: [], sending }]);
      assert.deepEqual(await store.targetQueues.claim(leaseUntil - 1, leaseUntil + lease, 10), []);
      const newcomer = waiting((await saveDispatched()).id);
      assert.equal(await store.targetQueues.join(newcomer, time, false), 'joined');
      const [delivery] = await store.deliveries.list({ ownerId, notificationId: id, limit: 1 });
      await store.deliveries.update([{ ...(delivery as Delivery), state: 'sent', nextAt: null, endedAt: time }]);
      await store.targetQueues.release({ ownerId, channel: 'mqtt', target: 'dev_1', leaseUntil }, { at: time });
      await claimOne(time);
    });

    test('changes nothing when a dispatch is settled again', async () => {
      const [delivery] = await fail({});
      assert.ok(delivery);
      await store.deliveries.update([{ ...delivery, state: 'sent', nextAt: null, endedAt: time, attempts: 1 }]);
      const again = { ownerId, notificationId: delivery.notificationId, results: allSent, failed: [delivery] };
      await store.dispatches.settle([again]);
      assert.deepEqual(
        (await store.deliveries.list({ ownerId, limit: 10 })).map(({ state }) => state),
        ['sent'],
      );
    });

    test('returns failed deliveries as they were stored', async () => {
      const failed = await fail(
        {},
        { channel: 'email', target: '', error: 'Ünïcode 🔔' },
        { channel: 'push', target: 'psh_1', state: 'dead', nextAt: null, endedAt: time },
      );
      const byChannel = [...failed].sort((a, b) => (a.channel < b.channel ? -1 : 1));
      assert.deepEqual(await store.deliveries.list({ ownerId, limit: 10 }), byChannel);
      assert.deepEqual(await store.deliveries.list({ ownerId, limit: 10, state: 'dead' }), [failed[2]]);
      assert.deepEqual(
        await store.deliveries.list({ ownerId, limit: 10, notificationId: failed[0]?.notificationId as string }),
        byChannel,
      );
      assert.deepEqual(await store.deliveries.list({ ownerId: 'own_bob', limit: 10 }), []);
      assert.equal(await store.deliveries.countWaiting(ownerId), 2);
      assert.equal(await store.deliveries.countWaiting('own_bob'), 0);
      assert.deepEqual(await store.deliveries.totals(), { waiting: 2, dead: 1, oldestWaitingAt: time });
    });

    test('makes a queue due with its first delivery, and lets one process hold it', async () => {
      await fail({ nextAt: time + 9000 });
      await fail({ nextAt: time + 7000 });
      await fail({ nextAt: time + 8000 });
      assert.deepEqual(await store.targetQueues.claim(time + 6999, time + lease, 10), []);
      const held = { ownerId, channel: 'mqtt', target: 'dev_1', leaseUntil: time + 7000 + lease };
      assert.deepEqual(await store.targetQueues.claim(time + 7000, time + 7000 + lease, 10), [held]);
      assert.deepEqual(await store.targetQueues.claim(time + 8000, time + 8000 + lease, 10), [], 'it is held');
      const takenOver = await store.targetQueues.claim(time + 7000 + lease, time + 7000 + 2 * lease, 10);
      assert.equal(takenOver.length, 1, 'its holder died');
    });

    test('gives each queue to one of several processes that claim at once', async () => {
      for (let count = 0; count < 30; count += 1) await fail({ target: `dev_${count}` });
      const others = await Promise.all([openAnother(), openAnother()]);
      const claims = await Promise.all(
        [store, ...others].map((each) => each.targetQueues.claim(time + 5000, time + lease, 30)),
      );
      const targets = claims.flat().map(({ target }) => target);
      assert.equal(new Set(targets).size, targets.length, 'none twice');
      const rest = await store.targetQueues.claim(time + 5000, time + lease, 30);
      assert.equal(targets.length + rest.length, 30, 'and none is missed');
    });

    test('lists waiting deliveries of a queue in the order of acceptance, regardless of their next attempt', async () => {
      const first = await fail({ nextAt: time + 9000 });
      const second = await fail({ nextAt: time + 5000 });
      await fail({ target: 'dev_2' });
      await fail({ ownerId: 'own_bob' });
      const lane = { ownerId, channel: 'mqtt', target: 'dev_1' } as const;
      assert.deepEqual(await store.deliveries.listWaiting(lane, { now: time + dayMs, limit: 10 }), [
        ...first,
        ...second,
      ]);
      assert.deepEqual(await store.deliveries.listWaiting(lane, { now: time + dayMs, limit: 1 }), first);
    });

    test('releases a queue: due with its first delivery, due at a given time, or deleted if it is empty', async () => {
      const [first] = await fail({});
      const [second] = await fail({ nextAt: time + 60_000 });
      assert.ok(first && second);
      let lane = await claimOne();
      await store.deliveries.update([{ ...first, state: 'sent', nextAt: null, endedAt: time + 5000 }]);
      await store.targetQueues.release(lane);
      assert.deepEqual(await store.targetQueues.claim(time + 59_999, time + 70_000, 10), []);
      lane = await claimOne(time + 60_000);
      await store.targetQueues.release(lane, { at: time + 90_000 });
      assert.deepEqual(await store.targetQueues.claim(time + 89_999, time + 99_000, 10), []);
      lane = await claimOne(time + 90_000);
      await store.deliveries.update([{ ...second, state: 'dead', nextAt: null, endedAt: time + 90_000 }]);
      await store.targetQueues.release(lane);
      assert.deepEqual(await store.targetQueues.claim(time + dayMs, time + 2 * dayMs, 10), []);
    });

    test('loses no delivery that is added to a queue while it is being released', async () => {
      const other = await openAnother();
      for (let round = 0; round < 20; round += 1) {
        const [delivery] = await fail({});
        assert.ok(delivery);
        const lane = await claimOne();
        await store.deliveries.update([{ ...delivery, state: 'sent', nextAt: null, endedAt: time }]);
        const { id } = await saveDispatched();
        const late = { ownerId, notificationId: id, results: allSent, failed: [waiting(id)] };
        await Promise.all([store.targetQueues.release(lane), other.dispatches.settle([late])]);
        const again = await claimOne();
        const left = await store.deliveries.listWaiting(again, { now: time + dayMs, limit: 10 });
        assert.equal(left.length, 1);
        await store.targetQueues.deadLetter(again, time);
        await store.targetQueues.release(again);
      }
    });

    test('extends the lease of a queue only for its holder', async () => {
      await fail({});
      const lane = await claimOne();
      const extended = await store.targetQueues.extend(lane, lane.leaseUntil + 1000);
      assert.deepEqual(extended, { ...lane, leaseUntil: lane.leaseUntil + 1000 });
      assert.equal(
        await store.targetQueues.extend(lane, lane.leaseUntil + 2000),
        null,
        'it is not held under that lease',
      );
      await store.targetQueues.release(lane);
      assert.deepEqual(await store.targetQueues.claim(time + 6000, time + lease, 10), [], 'nor released');
    });

    test('postpones due deliveries by their number of attempts, makes expired ones dead, and keeps the rest', async () => {
      const now = time + 10_000;
      await fail({ attempts: 0 });
      await fail({ attempts: 1 });
      await fail({ attempts: 9 });
      await fail({ nextAt: time + 20_000 });
      const [over] = await fail({ attempts: 4, expiresAt: time + 10_000 });
      await fail({ expiresAt: time + 12_000 });
      await fail({ attempts: 3, expiresAt: time + 10_000 });
      const lane = { ownerId, channel: 'mqtt', target: 'dev_1' } as const;
      const delaysMs = [30_000, 120_000, 600_000];
      const dead = await store.targetQueues.postponeDue(lane, now, { delaysMs, minAttempts: 5, notBefore: now });
      assert.deepEqual(dead, [{ ...over, state: 'dead', attempts: 5, nextAt: null, endedAt: now }]);
      const all = await store.deliveries.list({ ownerId, limit: 10 });
      assert.deepEqual(
        all.reverse().map(({ state, attempts, nextAt }) => [state, attempts, nextAt === null ? null : nextAt - time]),
        [
          ['waiting', 1, 40_000],
          ['waiting', 2, 130_000],
          ['waiting', 10, 610_000],
          ['waiting', 0, 20_000],
          ['dead', 5, null],
          ['waiting', 1, 12_000],
          // Expired, but without enough attempts: the clock may have jumped.
          ['waiting', 4, 610_000],
        ],
      );
      await store.targetQueues.postponeDue(lane, now, { delaysMs: [1, 1], minAttempts: 5, notBefore: time + 300_000 });
      const turns = (await store.deliveries.listWaiting(lane, { now: time + dayMs, limit: 10 })).map(
        ({ nextAt }) => (nextAt as number) - time,
      );
      assert.deepEqual(turns, [300_000, 300_000, 610_000, 300_000, 12_000, 610_000], 'but not beyond the expiry');
    });

    test('leaves out deliveries that may not be attempted yet, even if their queue is due', async () => {
      const [later] = await fail({ notBefore: time + 60_000 });
      const [now] = await fail({});
      const lane = { ownerId, channel: 'mqtt', target: 'dev_1' } as const;
      assert.deepEqual(await store.deliveries.listWaiting(lane, { now: time + 5000, limit: 10 }), [now]);
      assert.deepEqual(await store.deliveries.listWaiting(lane, { now: time + 60_000, limit: 10 }), [later, now]);
      const after = later?.notificationId as string;
      assert.deepEqual(await store.deliveries.listWaiting(lane, { now: time + 60_000, limit: 10, after }), [now]);
    });

    test('keeps a queue due that was woken while it was held', async () => {
      await fail({});
      const lane = await claimOne();
      const [delivery] = await store.deliveries.listWaiting(lane, { now: time + 5000, limit: 1 });
      await store.deliveries.update([{ ...(delivery as Delivery), nextAt: time + dayMs / 2 }]);
      assert.equal(await store.targetQueues.wake('mqtt', time + 6000), 1);
      assert.deepEqual(await store.targetQueues.claim(time + 6000, time + lease, 10), [], 'it is held');
      const extended = await store.targetQueues.extend(lane, lane.leaseUntil + 1000);
      await store.targetQueues.release(extended as TargetQueue, { at: time + 90_000 });
      assert.equal((await store.targetQueues.claim(time + 6000, time + 6000 + lease, 10)).length, 1);
    });

    test('stores nothing for a deleted owner', async () => {
      const { id } = await saveDispatched();
      await (await openAnother()).owners.delete(ownerId);
      const settled = { ownerId, notificationId: id, results: allSent, failed: [waiting(id)] };
      await store.dispatches.settle([settled]).catch((error) => assert.ok(error instanceof EncryptionKeyMissing));
      assert.deepEqual(await store.deliveries.totals(), { waiting: 0, dead: 0, oldestWaitingAt: null });
      assert.deepEqual(await store.targetQueues.claim(time + dayMs, time + 2 * dayMs, 10), []);
    });

    test('wakes only the queues of the channel that has recovered', async () => {
      await fail({ nextAt: time + dayMs });
      await fail({ nextAt: time + dayMs, target: 'dev_2' });
      await fail({ nextAt: time + dayMs, channel: 'email', target: '' });
      assert.equal(await store.targetQueues.wake('mqtt', time), 2);
      assert.equal(await store.targetQueues.wake('mqtt', time), 0);
      const lanes = await store.targetQueues.claim(time, time + lease, 10);
      assert.deepEqual(lanes.map(({ target }) => target).sort(), ['dev_1', 'dev_2']);
    });

    test('retries and drops dead and waiting deliveries, but not sent ones', async () => {
      const [dead] = await fail({ state: 'dead', nextAt: null, endedAt: time, attempts: 9 });
      const [sent] = await fail({ target: 'dev_2' });
      assert.ok(dead && sent);
      const lane = await claimOne();
      await store.deliveries.update([{ ...sent, state: 'sent', nextAt: null, endedAt: time }]);
      await store.targetQueues.release(lane);
      assert.equal(await store.deliveries.retry([dead, sent], time + 1000), 1);
      const [again] = await store.deliveries.list({ ownerId, limit: 10, state: 'waiting' });
      assert.deepEqual(again, {
        ...dead,
        state: 'waiting',
        attempts: 0,
        nextAt: time + 1000,
        expiresAt: time + 1000 + dayMs,
        endedAt: null,
      });
      const due = await store.targetQueues.claim(time + 1000, time + lease, 10);
      assert.ok(due.some(({ target }) => target === 'dev_1'));
      assert.equal(await store.deliveries.drop([dead]), 1);
      assert.equal(await store.deliveries.drop([dead]), 0);
      assert.deepEqual(await store.deliveries.list({ ownerId, limit: 10, state: 'waiting' }), []);
    });

    test('keeps a delivery dropped that was dropped during an attempt', async () => {
      const [delivery] = await fail({});
      assert.ok(delivery);
      await store.deliveries.drop([delivery]);
      await store.deliveries.update([{ ...delivery, attempts: 1 }]);
      assert.deepEqual(await store.deliveries.list({ ownerId, limit: 10 }), []);
    });

    test('deletes dispatches and deliveries with their notifications', async () => {
      const old = await fail({});
      time += 10 * dayMs;
      const young = await fail({});
      await store.maintenance.purge(time - dayMs, time);
      assert.equal(await store.dispatches.find(ownerId, old[0]?.notificationId as string), null);
      assert.deepEqual(await store.deliveries.list({ ownerId, limit: 10 }), young);
      await store.owners.delete(ownerId);
      assert.equal(await store.dispatches.find(ownerId, young[0]?.notificationId as string), null);
      assert.deepEqual(await store.targetQueues.claim(time + dayMs, time + 2 * dayMs, 10), []);
      assert.deepEqual(await store.deliveries.totals(), { waiting: 0, dead: 0, oldestWaitingAt: null });
    });

    const claim = (key: string, fingerprint = 'f1') => ({
      keyDigest: key,
      fingerprint,
      expiresAt: time + dayMs,
    });
    const saveOnce = async (to: Store, key: string, owner = ownerId) => {
      const saved = notification(owner);
      const outcome = await to.notifications.save(saved, {
        dispatch,
        idempotency: claim(key),
        leaseUntil: time + lease,
      });
      return { id: saved.id, outcome };
    };

    test('accepts an idempotency key once per owner, in the same transaction as the notification', async () => {
      const first = await saveOnce(store, 'k');
      assert.equal(first.outcome, 'saved');
      const second = await saveOnce(await openAnother(), 'k');
      assert.equal(second.outcome, 'duplicate');
      assert.equal(await store.notifications.find(ownerId, second.id), null);
      assert.equal(await store.dispatches.find(ownerId, second.id), null);
      assert.equal((await saveOnce(store, 'k', 'own_bob')).outcome, 'saved', 'another owner has keys of their own');
      assert.deepEqual(await store.idempotency.find(ownerId, 'k', time), {
        fingerprint: 'f1',
        notificationId: first.id,
        leaseUntil: time + lease,
        answer: null,
      });
      assert.equal(await store.idempotency.find(ownerId, 'other', time), null);
    });

    test('accepts each idempotency key once, even if several processes try at once', async () => {
      const stores = [store, await openAnother(), await openAnother()];
      const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
      const attempts = await Promise.all(
        keys.flatMap((key, index) =>
          Array.from({ length: 6 }, (_, attempt) => saveOnce(stores[(index + attempt) % 3] as Store, key)),
        ),
      );
      const saved = attempts.filter(({ outcome }) => outcome === 'saved');
      assert.equal(saved.length, keys.length);
      const { notifications } = await store.notifications.list(ownerId, { limit: 200 });
      assert.deepEqual(new Set(notifications.map(({ id }) => id)), new Set(saved.map(({ id }) => id)));
    });

    test('keeps the first response of a key for a day', async () => {
      await saveOnce(store, 'k');
      await store.idempotency.saveResponse(ownerId, 'k', { status: 200, body: 'the first' });
      await store.idempotency.saveResponse(ownerId, 'k', { status: 200, body: 'the second' });
      const record = await (await openAnother()).idempotency.find(ownerId, 'k', time + dayMs - 1);
      assert.deepEqual(record?.answer, { status: 200, body: 'the first' });
      assert.equal(await store.idempotency.find(ownerId, 'k', time + dayMs), null);
      time += dayMs;
      const { id, outcome } = await saveOnce(store, 'k');
      assert.equal(outcome, 'saved', 'the key is free again, purged or not');
      const renewed = await store.idempotency.find(ownerId, 'k', time);
      assert.equal(renewed?.notificationId, id);
      assert.equal(renewed?.answer, null);
    });
  });
}
