// What every store must do for whoever signs in: see usecases/ports/sign-in.ts. Each backend runs this suite.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, suite, test } from 'node:test';
import { plainOwner } from '@tocsin/test-support/plain-owner.ts';
import { EncryptionKeyMissing, type Store } from '../src/usecases/ports/index.ts';
import {
  AlreadyTaken,
  type OidcIdentity,
  type OneTimeLink,
  type Passkey,
  type Session,
} from '../src/usecases/ports/sign-in.ts';
import type { StoreFixture } from './store-contract.ts';

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
      for (const id of [ann, bob]) await store.createOwner(plainOwner(id, now));
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

    test('finds a session as it was made, in every process, until it expires', async () => {
      await store.createSession(session('s1'));
      assert.deepEqual(await other.findSession('digest of s1', now), session('s1'));
      assert.deepEqual(await other.findSession('digest of s1', now + 999), session('s1'));
      assert.equal(await store.findSession('digest of s1', now + 1000), null);
      assert.deepEqual(await store.listSessions(ann, now + 1000), []);
      assert.equal(await store.findSession('digest of s2', now), null);
    });

    test('lists the sessions of an owner, last seen first, and moves times forward only', async () => {
      for (const id of ['s1', 's2', 's3']) await store.createSession(session(id));
      await store.createSession(session('s4', bob));
      await store.touchSession(session('s2'), { seenAt: now + 20, expiresAt: now + 5000 });
      await store.touchSession(session('s3'), { seenAt: now + 10, expiresAt: now + 4000 });
      await store.touchSession(session('s2'), { seenAt: now + 1, expiresAt: now + 2 });
      await store.touchSession(session('s1', bob), { seenAt: now + 99, expiresAt: now + 99 });
      assert.deepEqual(await store.listSessions(ann, now + 1), [
        { ...session('s2'), seenAt: now + 20, expiresAt: now + 5000 },
        { ...session('s3'), seenAt: now + 10, expiresAt: now + 4000 },
        session('s1'),
      ]);
    });

    test('ends one session, or all but one with the links not used yet, of that owner alone', async () => {
      for (const id of ['s1', 's2', 's3']) await store.createSession(session(id));
      await store.createSession(session('s4', bob));
      assert.equal(await store.deleteSession(bob, 's1'), false);
      assert.equal(await store.deleteSession(ann, 's1'), true);
      assert.equal(await store.deleteSession(ann, 's1'), false);
      assert.equal(await other.findSession('digest of s1', now), null);
      assert.equal(await store.deleteSessions(ann, 's4'), 2);
      await store.createSession(session('s5'));
      await store.createOneTimeLink(link());
      await store.createOneTimeLink({ ...link(bob), tokenDigest: 'digest of another link' });
      assert.equal(await store.deleteSessions(ann, 's5'), 0);
      assert.equal(await other.findOneTimeLink('digest of link', now), null);
      assert.notEqual(await other.findOneTimeLink('digest of another link', now), null);
      assert.equal((await store.listSessions(bob, now)).length, 1);
    });

    test('lets one of twenty take a link, and a look leaves it', async () => {
      await store.createOneTimeLink(link());
      assert.deepEqual(await store.findOneTimeLink('digest of link', now), link());
      const takers = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? store : other));
      const taken = await Promise.all(takers.map((each) => each.takeOneTimeLink('digest of link', now)));
      assert.deepEqual(
        taken.filter((each) => each !== null),
        [link()],
      );
      assert.equal(await store.findOneTimeLink('digest of link', now), null);
      assert.equal(await store.takeOneTimeLink('digest of link', now), null);
    });

    test('neither finds nor takes a link that has expired', async () => {
      await store.createOneTimeLink(link());
      assert.equal(await store.findOneTimeLink('digest of link', now + 1000), null);
      assert.equal(await store.takeOneTimeLink('digest of link', now + 1000), null);
      assert.deepEqual(await store.takeOneTimeLink('digest of link', now + 999), link());
    });

    test('keeps passkeys, each credential once', async () => {
      await store.createPasskey(passkey('p1'));
      await store.createPasskey({ ...passkey('p2'), createdAt: now + 1 });
      assert.deepEqual(await other.findPasskey('digest of p1'), passkey('p1'));
      assert.equal(await store.findPasskey('digest of p3'), null);
      const twin = { ...passkey('p9', bob), credentialDigest: 'digest of p1' };
      await assert.rejects(store.createPasskey(twin), AlreadyTaken);
      assert.deepEqual(
        (await store.listPasskeys(ann)).map(({ id }) => id),
        ['p1', 'p2'],
      );
      assert.deepEqual(await store.listPasskeys(bob), []);
      assert.equal(await store.deletePasskey(bob, 'p1'), false);
      assert.equal(await store.deletePasskey(ann, 'p1'), true);
      assert.equal(await store.findPasskey('digest of p1'), null);
    });

    test('notes the use of a passkey once for each count, and any number of times where it does not count', async () => {
      await store.createPasskey({ ...passkey('counts'), counter: 7 });
      await store.createPasskey(passkey('counts not'));
      const found = (await store.findPasskey('digest of counts')) as Passkey;
      const uses = [store, other, store, other].map((each) =>
        each.usePasskey(found, { counter: 8, usedAt: now + 1, userVerified: true }),
      );
      assert.deepEqual((await Promise.all(uses)).filter(Boolean), [true]);
      assert.deepEqual(await store.findPasskey('digest of counts'), {
        ...found,
        counter: 8,
        usedAt: now + 1,
        userVerified: true,
      });
      for (const usedAt of [now + 1, now + 2]) {
        assert.equal(await store.usePasskey(passkey('counts not'), { counter: 0, usedAt, userVerified: false }), true);
      }
      assert.equal((await store.findPasskey('digest of counts not'))?.userVerified, null);
      assert.equal(
        await store.usePasskey(passkey('counts not', bob), { counter: 0, usedAt: now + 9, userVerified: true }),
        false,
      );
      await store.deletePasskey(ann, 'counts not');
      assert.equal(
        await store.usePasskey(passkey('counts not'), { counter: 0, usedAt: now, userVerified: true }),
        false,
      );
    });

    test('keeps identities, each for one owner', async () => {
      await store.createIdentity(identity('i1'));
      assert.deepEqual(await other.findIdentity('digest of i1'), identity('i1'));
      const twin = { ...identity('i2', bob), subjectDigest: 'digest of i1' };
      await assert.rejects(store.createIdentity(twin), AlreadyTaken);
      assert.deepEqual(await store.listIdentities(ann), [identity('i1')]);
      assert.equal(await store.deleteIdentity(bob, 'i1'), false);
      assert.equal(await store.deleteIdentity(ann, 'i1'), true);
      assert.deepEqual(await store.listIdentities(ann), []);
      await store.createIdentity(twin);
    });

    test('keeps nothing for an owner who is gone, even if another process deleted them', async () => {
      await store.createSession(session('s1'));
      await store.createOneTimeLink(link());
      await store.createPasskey(passkey('p1'));
      await store.createIdentity(identity('i1'));
      await other.deleteOwner(ann);
      assert.equal(await store.findSession('digest of s1', now), null);
      assert.equal(await store.takeOneTimeLink('digest of link', now), null);
      assert.equal(await store.findPasskey('digest of p1'), null);
      assert.equal(await store.findIdentity('digest of i1'), null);
      await assert.rejects(store.createSession(session('s2')), EncryptionKeyMissing);
      await assert.rejects(store.createOneTimeLink(link()), EncryptionKeyMissing);
      await assert.rejects(store.createPasskey(passkey('p2')), EncryptionKeyMissing);
      await assert.rejects(store.createIdentity(identity('i2')), EncryptionKeyMissing);
    });

    test('purges sessions and links that have expired, and keeps the others', async () => {
      await store.createSession(session('old'));
      await store.createSession({ ...session('new'), expiresAt: now + 9000 });
      await store.createOneTimeLink(link());
      await store.createOneTimeLink({ ...link(), tokenDigest: 'digest of another', expiresAt: now + 9000 });
      await store.purge(0, now + 5000);
      assert.equal(await store.findSession('digest of old', now), null);
      assert.equal(await store.findOneTimeLink('digest of link', now), null);
      assert.equal((await store.listSessions(ann, now)).length, 1);
      assert.notEqual(await store.findOneTimeLink('digest of another', now), null);
    });

    test('finds nothing wrong with itself', async () => {
      await store.createSession(session('s1'));
      await store.createOneTimeLink(link());
      await store.createPasskey(passkey('p1'));
      await store.createIdentity(identity('i1'));
      assert.deepEqual(await store.verify(), []);
    });
  });
}
