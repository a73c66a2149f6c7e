// The contract of sessions, links, passkeys and identities (usecases/ports/sign-in.ts). Each backend runs this suite.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import type { StoreFixture } from '@tocsin/test-support/store-fixture.ts';
import { EncryptionKeyMissing, type Store } from '../src/usecases/ports/index.ts';
import {
  AlreadyTaken,
  type OidcIdentity,
  type OneTimeLink,
  type Passkey,
  type Session,
} from '../src/usecases/ports/sign-in.ts';

const [ann, bob] = ['own_ann', 'own_bob'];
const now = 1_800_000_000_000;

export function runSignInContract(name: string, createFixture: () => Promise<StoreFixture>): void {
  suite(`Signing in with the ${name} store`, () => {
    let fixture: StoreFixture;
    let store: Store;
    let other: Store;

    beforeEach(async () => {
      fixture = await createFixture();
      store = await fixture.open();
      other = await fixture.open();
      for (const id of [ann, bob]) await store.owners.create(plainOwner(id, now));
    });
    afterEach(async () => {
      await Promise.all([store.close(), other.close()]);
      await fixture.remove();
    });

    const session = (id: string, ownerId = ann): Session => ({
      id,
      ownerId,
      tokenDigest: `digest of ${id}`,
      method: 'passkey',
      userAgent: 'Browser of Ann',
      address: '192.0.2.7',
      createdAt: now,
      seenAt: now,
      expiresAt: now + 1000,
    });
    const link = (ownerId = ann): OneTimeLink => ({
      tokenDigest: 'digest of link',
      ownerId,
      purpose: 'confirm_email',
      method: 'mail',
      email: 'ann@example.com',
      createdAt: now,
      expiresAt: now + 1000,
    });
    const passkey = (id: string, ownerId = ann): Passkey => ({
      id,
      ownerId,
      credentialDigest: `digest of ${id}`,
      credentialId: 'Y3JlZGVudGlhbA',
      publicKey: 'cHVibGlj',
      transports: ['internal', 'hybrid'],
      name: 'Phone of Ann',
      userVerified: null,
      counter: 0,
      createdAt: now,
      usedAt: null,
    });
    const identity = (id: string, ownerId = ann): OidcIdentity => ({
      id,
      ownerId,
      subjectDigest: `digest of ${id}`,
      issuer: 'https://id.example.com',
      subject: 'ann-4711',
      createdAt: now,
    });

    test('finds a session as it was created, in every process, until it expires', async () => {
      await store.sessions.create(session('s1'));
      assert.deepEqual(await other.sessions.find('digest of s1', now), session('s1'));
      assert.deepEqual(await other.sessions.find('digest of s1', now + 999), session('s1'));
      assert.equal(await store.sessions.find('digest of s1', now + 1000), null);
      assert.deepEqual(await store.sessions.list(ann, now + 1000), []);
      assert.equal(await store.sessions.find('digest of s2', now), null);
    });

    test('lists the sessions of an owner, last seen first, and only advances their times', async () => {
      for (const id of ['s1', 's2', 's3']) await store.sessions.create(session(id));
      await store.sessions.create(session('s4', bob));
      await store.sessions.touch(session('s2'), { seenAt: now + 20, expiresAt: now + 5000 });
      await store.sessions.touch(session('s3'), { seenAt: now + 10, expiresAt: now + 4000 });
      await store.sessions.touch(session('s2'), { seenAt: now + 1, expiresAt: now + 2 });
      await store.sessions.touch(session('s1', bob), { seenAt: now + 99, expiresAt: now + 99 });
      assert.deepEqual(await store.sessions.list(ann, now + 1), [
        { ...session('s2'), seenAt: now + 20, expiresAt: now + 5000 },
        { ...session('s3'), seenAt: now + 10, expiresAt: now + 4000 },
        session('s1'),
      ]);
    });

    test('deletes one session, or all others with the unused links, of one owner only', async () => {
      for (const id of ['s1', 's2', 's3']) await store.sessions.create(session(id));
      await store.sessions.create(session('s4', bob));
      assert.equal(await store.sessions.delete(bob, 's1'), false);
      assert.equal(await store.sessions.delete(ann, 's1'), true);
      assert.equal(await store.sessions.delete(ann, 's1'), false);
      assert.equal(await other.sessions.find('digest of s1', now), null);
      assert.equal(await store.sessions.deleteOthers(ann, 's4'), 2);
      await store.sessions.create(session('s5'));
      await store.oneTimeLinks.create(link());
      await store.oneTimeLinks.create({ ...link(bob), tokenDigest: 'digest of another link' });
      assert.equal(await store.sessions.deleteOthers(ann, 's5'), 0);
      assert.equal(await other.oneTimeLinks.find('digest of link', now), null);
      assert.notEqual(await other.oneTimeLinks.find('digest of another link', now), null);
      assert.equal((await store.sessions.list(bob, now)).length, 1);
    });

    test('lets one of twenty consume a link, and finds it without consuming it', async () => {
      await store.oneTimeLinks.create(link());
      assert.deepEqual(await store.oneTimeLinks.find('digest of link', now), link());
      const takers = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? store : other));
      const taken = await Promise.all(takers.map((each) => each.oneTimeLinks.consume('digest of link', now)));
      assert.deepEqual(
        taken.filter((each) => each !== null),
        [link()],
      );
      assert.equal(await store.oneTimeLinks.find('digest of link', now), null);
      assert.equal(await store.oneTimeLinks.consume('digest of link', now), null);
    });

    test('neither finds nor consumes an expired link', async () => {
      await store.oneTimeLinks.create(link());
      assert.equal(await store.oneTimeLinks.find('digest of link', now + 1000), null);
      assert.equal(await store.oneTimeLinks.consume('digest of link', now + 1000), null);
      assert.deepEqual(await store.oneTimeLinks.consume('digest of link', now + 999), link());
    });

    test('stores each passkey credential once', async () => {
      await store.passkeys.create(passkey('p1'));
      await store.passkeys.create({ ...passkey('p2'), createdAt: now + 1 });
      assert.deepEqual(await other.passkeys.find('digest of p1'), passkey('p1'));
      assert.equal(await store.passkeys.find('digest of p3'), null);
      const twin = { ...passkey('p9', bob), credentialDigest: 'digest of p1' };
      await assert.rejects(store.passkeys.create(twin), AlreadyTaken);
      assert.deepEqual(
        (await store.passkeys.list(ann)).map(({ id }) => id),
        ['p1', 'p2'],
      );
      assert.deepEqual(await store.passkeys.list(bob), []);
      assert.equal(await store.passkeys.delete(bob, 'p1'), false);
      assert.equal(await store.passkeys.delete(ann, 'p1'), true);
      assert.equal(await store.passkeys.find('digest of p1'), null);
    });

    test('records a use of a passkey once per counter value, or any number of times without a counter', async () => {
      await store.passkeys.create({ ...passkey('counts'), counter: 7 });
      await store.passkeys.create(passkey('counts not'));
      const found = (await store.passkeys.find('digest of counts')) as Passkey;
      const uses = [store, other, store, other].map((each) =>
        each.passkeys.recordUse(found, { counter: 8, usedAt: now + 1, userVerified: true }),
      );
      assert.deepEqual((await Promise.all(uses)).filter(Boolean), [true]);
      assert.deepEqual(await store.passkeys.find('digest of counts'), {
        ...found,
        counter: 8,
        usedAt: now + 1,
        userVerified: true,
      });
      for (const usedAt of [now + 1, now + 2]) {
        assert.equal(
          await store.passkeys.recordUse(passkey('counts not'), { counter: 0, usedAt, userVerified: false }),
          true,
        );
      }
      assert.equal((await store.passkeys.find('digest of counts not'))?.userVerified, null);
      assert.equal(
        await store.passkeys.recordUse(passkey('counts not', bob), { counter: 0, usedAt: now + 9, userVerified: true }),
        false,
      );
      await store.passkeys.delete(ann, 'counts not');
      assert.equal(
        await store.passkeys.recordUse(passkey('counts not'), { counter: 0, usedAt: now, userVerified: true }),
        false,
      );
    });

    test('stores each identity for one owner', async () => {
      await store.identities.create(identity('i1'));
      assert.deepEqual(await other.identities.find('digest of i1'), identity('i1'));
      const twin = { ...identity('i2', bob), subjectDigest: 'digest of i1' };
      await assert.rejects(store.identities.create(twin), AlreadyTaken);
      assert.deepEqual(await store.identities.list(ann), [identity('i1')]);
      assert.equal(await store.identities.delete(bob, 'i1'), false);
      assert.equal(await store.identities.delete(ann, 'i1'), true);
      assert.deepEqual(await store.identities.list(ann), []);
      await store.identities.create(twin);
    });

    test('stores nothing for an owner that another process has deleted', async () => {
      await store.sessions.create(session('s1'));
      await store.oneTimeLinks.create(link());
      await store.passkeys.create(passkey('p1'));
      await store.identities.create(identity('i1'));
      await other.owners.delete(ann);
      assert.equal(await store.sessions.find('digest of s1', now), null);
      assert.equal(await store.oneTimeLinks.consume('digest of link', now), null);
      assert.equal(await store.passkeys.find('digest of p1'), null);
      assert.equal(await store.identities.find('digest of i1'), null);
      await assert.rejects(store.sessions.create(session('s2')), EncryptionKeyMissing);
      await assert.rejects(store.oneTimeLinks.create(link()), EncryptionKeyMissing);
      await assert.rejects(store.passkeys.create(passkey('p2')), EncryptionKeyMissing);
      await assert.rejects(store.identities.create(identity('i2')), EncryptionKeyMissing);
    });

    test('purges sessions and links that have expired, and keeps the others', async () => {
      await store.sessions.create(session('old'));
      await store.sessions.create({ ...session('new'), expiresAt: now + 9000 });
      await store.oneTimeLinks.create(link());
      await store.oneTimeLinks.create({ ...link(), tokenDigest: 'digest of another', expiresAt: now + 9000 });
      await store.maintenance.purge(0, now + 5000);
      assert.equal(await store.sessions.find('digest of old', now), null);
      assert.equal(await store.oneTimeLinks.find('digest of link', now), null);
      assert.equal((await store.sessions.list(ann, now)).length, 1);
      assert.notEqual(await store.oneTimeLinks.find('digest of another', now), null);
    });

    test('verifies without problems', async () => {
      await store.sessions.create(session('s1'));
      await store.oneTimeLinks.create(link());
      await store.passkeys.create(passkey('p1'));
      await store.identities.create(identity('i1'));
      assert.deepEqual(await store.maintenance.verify(), []);
    });
  });
}
