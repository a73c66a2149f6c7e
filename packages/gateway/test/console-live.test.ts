// Live events of the console: sent immediately to every open page of the owner, and to no other.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { InboxListing, SessionInfo } from '@tocsin/contract/console';
import { type ConsoleClient, signInAs, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { beginSearch, EventListener } from '@tocsin/test-support/console-streams.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import { install } from '@tocsin/test-support/install.ts';
import { type LocalConsole, startLocalConsole } from '@tocsin/test-support/local-console.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { sampleContent } from '@tocsin/test-support/sample-content.ts';
import { createUuidV7Source } from '../src/core/uuid-v7.ts';
import { DecryptionFailed, type Store, StoreUnavailable } from '../src/usecases/ports/index.ts';
import { createOwner, systemEnvironment } from '../src/usecases/registration.ts';

/** The documented limit is one second; a busy machine may take longer, so the test does not depend on the timing. */
const promisedMs = 5000;

test('A notification appears in the open inbox within a second of the POST, until the service stops', async (t) => {
  const installation = await install(t);
  const gateway = await installation.serve();
  const { id: bobsId } = await installation.json<{ id: string }>('owner', 'create', '--name', 'Bob');
  const ann = await EventListener.open(await signInAtFirstRun(gateway));
  const bob = await EventListener.open(await signInAs(installation, gateway, bobsId));

  for (const title of ['<img src=x onerror=alert(1)>\n\ndata: {}', 'second']) {
    const sentAt = performance.now();
    assert.equal((await notify(gateway, { title, body: 'line\n\nevent: signed-out\ndata: {}\n\nend' })).status, 200);
    const arrived = await ann.waitFor('it arrives', promisedMs, (event) => event.id !== undefined);
    t.diagnostic(`arrived ${(arrived.at - sentAt).toFixed()} ms after the POST began`);
    assert.ok(arrived.event === 'arrived');
    const { notification, unread } = arrived.data;
    assert.equal(arrived.id, notification.id);
    assert.equal(notification.body, 'line\n\nevent: signed-out\ndata: {}\n\nend');
    assert.deepEqual(unread, { count: title === 'second' ? 2 : 1, atMost: 1000 });
    ann.events.length = 0;
  }

  assert.deepEqual(bob.events, [], 'Bob receives no event of it');
  const stopsAt = performance.now();
  assert.equal(await gateway.stop(), 0);
  assert.ok(performance.now() - stopsAt < 3000, 'open streams do not delay the shutdown');
  await eventually('both streams have ended', 1000, () => ann.isOver && bob.isOver, Boolean);
  assert.doesNotMatch(gateway.log, /late|timed out|failed/i);
});

suite('Live events', () => {
  let local: LocalConsole;
  let client: ConsoleClient;
  let isStoreAway = false;
  let damagedId = '';
  let clockOff = 0;
  const calls = { looks: 0, opened: [] as string[] };

  const watched = (store: Store): Store => ({
    ...store,
    inbox: {
      ...store.inbox,
      readNews: async (...args) => {
        calls.looks += 1;
        if (isStoreAway) throw new StoreUnavailable('away');
        return store.inbox.readNews(...args);
      },
      find: async (ownerId, id) => {
        calls.opened.push(id);
        if (id === damagedId) throw new DecryptionFailed('altered');
        return store.inbox.find(ownerId, id);
      },
      // An endless inbox.
      search: async () =>
        delay(300, { matches: [], searched: 1, reachedAt: undefined, damaged: [], skipped: [], next: newId() }),
    },
    sessions: {
      ...store.sessions,
      find: async (...args) => {
        if (isStoreAway) throw new StoreUnavailable('away');
        return store.sessions.find(...args);
      },
    },
  });

  const newId = createUuidV7Source(Date.now, randomUUID);
  async function arrive(title: string, id = newId(), data = {}): Promise<string> {
    await local.store.notifications.save({
      id,
      ownerId: local.owner.id,
      createdAt: Date.now(),
      content: sampleContent({ title, data }),
    });
    return id;
  }
  const hasReceived = (listener: EventListener, title: string): Promise<unknown> =>
    eventually(
      `${title} is received`,
      promisedMs,
      () => listener.arrivedTitles,
      (titles) => titles.includes(title),
    );

  before(async () => {
    local = await startLocalConsole({ wrapStore: watched, parts: { now: () => Date.now() + clockOff } });
    client = await local.signIn();
  });
  after(() => local.stop());

  test('reach every open page; each row is decrypted once, and the store is polled only while a page is open', async () => {
    const listeners = await Promise.all(Array.from({ length: 3 }, () => EventListener.open(client)));
    const id = await arrive('for all three');
    await Promise.all(listeners.map((listener) => hasReceived(listener, 'for all three')));
    assert.deepEqual(calls.opened, [id]);
    await client.post('/api/notifications/read', { ids: [id], isRead: true });
    for (const listener of listeners) {
      const changed = await listener.waitFor(
        'another page marked it read',
        promisedMs,
        ({ event }) => event === 'changed',
      );
      assert.deepEqual(changed.data, { unread: { count: 0, atMost: 1000 } });
      listener.close();
    }
    const looks = async (): Promise<number> => {
      const since = calls.looks;
      await delay(900);
      return calls.looks - since;
    };
    await eventually('polling has ended', 5000, looks, (count) => count === 0);
  });

  test('continue where a list ends: nothing is missed, and the list need not be read again', async () => {
    const positionNow = async (): Promise<string> => {
      const { body } = await client.get<InboxListing>('/api/notifications');
      assert.ok(body.position);
      return `?${new URLSearchParams({ position: body.position })}`;
    };
    const position = await positionNow();
    const id = await arrive('after the list');
    const listener = await EventListener.open(client, undefined, position);
    await hasReceived(listener, 'after the list');
    await arrive('after the stream began');
    await hasReceived(listener, 'after the stream began');
    assert.deepEqual(
      listener.events.filter(({ event }) => event === 'changed'),
      [],
    );
    listener.close();

    const changed = await positionNow();
    await client.post('/api/notifications/read', { ids: [id], isRead: true });
    const reader = await EventListener.open(client, undefined, changed);
    await reader.waitFor(
      'a notification was marked read after the list',
      promisedMs,
      ({ event }) => event === 'changed',
    );
    reader.close();

    for (const nonsense of ['?position=', '?position=1:x', '?position=1&position=2']) {
      const plain = await EventListener.open(client, undefined, nonsense);
      await arrive(`despite ${nonsense}`);
      await hasReceived(plain, `despite ${nonsense}`);
      plain.close();
    }
  });

  test('include a notification from a node whose clock is behind, each only once', async (t) => {
    const listener = await EventListener.open(client);
    t.after(() => listener.close());
    const slow = createUuidV7Source(() => Date.now() - 4000, randomUUID);
    await arrive('ahead');
    await hasReceived(listener, 'ahead');
    await arrive('behind', slow());
    await hasReceived(listener, 'behind');
    await arrive('after that');
    await hasReceived(listener, 'after that');
    assert.deepEqual(listener.arrivedTitles, ['ahead', 'behind', 'after that']);
  });

  test('do not repeat old notifications after a clock step back', async (t) => {
    const old = createUuidV7Source(() => Date.now() - 60_000, randomUUID);
    for (const title of ['old', 'older']) await arrive(title, old());
    const listener = await EventListener.open(client);
    t.after(() => {
      listener.close();
      clockOff = 0;
    });
    clockOff = -3_600_000;
    await listener.waitFor(
      'the client is asked to reload the list',
      2 * promisedMs,
      ({ event }) => event === 'changed',
    );
    await arrive('new');
    await hasReceived(listener, 'new');
    assert.deepEqual(listener.arrivedTitles, ['new']);
  });

  test('that were missed are sent to a client that reconnects, or asked to reload the list', async (t) => {
    const before = await EventListener.open(client);
    await eventually(
      'the position is known',
      promisedMs,
      () => before.lastEventId,
      (id) => id !== '',
    );
    before.close();
    const missed = Array.from({ length: 100 }, (_, count) => `missed ${count}`);
    for (const title of missed) await arrive(title);
    const back = await EventListener.open(client, before.lastEventId);
    t.after(() => back.close());
    await back.waitFor('the stream has caught up', 3000, ({ event }) => event === 'changed');
    assert.deepEqual(back.arrivedTitles, missed);
    await arrive('one too many');
    await hasReceived(back, 'one too many');
    assert.equal(new Set(back.arrivedTitles).size, back.arrivedTitles.length, 'nothing twice');
    for (const lastId of [before.lastEventId, 'no id at all']) {
      const late = await EventListener.open(client, lastId);
      await late.waitFor('changed is received', 3000, ({ event }) => event === 'changed');
      assert.deepEqual(late.arrivedTitles, []);
      late.close();
    }
  });

  test('skip a notification that cannot be decrypted, whether it is new or was missed', async () => {
    const listener = await EventListener.open(client);
    await eventually(
      'the position is known',
      promisedMs,
      () => listener.lastEventId,
      (id) => id !== '',
    );
    const since = listener.lastEventId;
    damagedId = newId();
    await arrive('damaged', damagedId);
    await listener.waitFor('the client is asked to reload the list', promisedMs, ({ event }) => event === 'changed');
    await arrive('whole');
    await hasReceived(listener, 'whole');
    const back = await EventListener.open(client, since);
    await back.waitFor('the stream has caught up', 3000, ({ event }) => event === 'changed');
    assert.deepEqual([listener.arrivedTitles, back.arrivedTitles], [['whole'], ['whole']]);
    assert.equal((await client.get(`/api/notifications/${damagedId}`)).status, 404);
    assert.deepEqual(local.failures, []);
    listener.close();
    back.close();
  });

  test('continue over the same connection after an outage of the store', async (t) => {
    const listener = await EventListener.open(client);
    t.after(() => listener.close());
    isStoreAway = true;
    const since = calls.looks;
    await eventually(
      'it has tried',
      5000,
      () => calls.looks - since,
      (count) => count >= 2,
    );
    await arrive('meanwhile');
    isStoreAway = false;
    await eventually(
      'an event is received',
      3000,
      () => listener.arrivedTitles,
      (titles) => titles.includes('meanwhile'),
    );
    assert.deepEqual(local.failures, []);
  });

  test('end within five seconds after the session is revoked or its owner is deleted', async () => {
    const browser = await local.signIn();
    const revoked = (await browser.get<SessionInfo>('/api/session')).body.sessionId;
    const other = await createOwner(local.store, systemEnvironment, { name: 'Gone', email: null, emailAlerts: false });
    const gone = await local.signIn(other.id);
    const stays = await EventListener.open(client);
    const listeners = [await EventListener.open(browser), await EventListener.open(gone)];
    const searching = await beginSearch(browser, { q: 'nothing has this' });
    await local.store.sessions.delete(local.owner.id, revoked);
    await local.store.owners.delete(other.id);
    for (const listener of listeners) {
      await listener.waitFor('signed-out is received', 5000, ({ event }) => event === 'signed-out');
      await eventually('it ends', promisedMs, () => listener.isOver, Boolean);
    }
    const { last } = await searching.result();
    assert.deepEqual(last, { kind: 'failed', error: 'Your session has expired.' }, 'a running search ends, too');
    await assert.rejects(EventListener.open(browser), /401/);
    assert.equal(stays.isOver, false);
    stays.close();
  });

  test('send nothing to a session after it was revoked', async (t) => {
    const browser = await local.signIn();
    const { sessionId } = (await browser.get<SessionInfo>('/api/session')).body;
    const listeners = [await EventListener.open(browser), await EventListener.open(client)] as const;
    const [revoked, stays] = listeners;
    t.after(() => stays.close());
    await local.store.sessions.delete(local.owner.id, sessionId);
    await arrive('not for them');
    await hasReceived(stays, 'not for them');
    await eventually('it ends', promisedMs, () => revoked.isOver, Boolean);
    assert.deepEqual(revoked.arrivedTitles, []);
    assert.equal(revoked.events.at(-1)?.event, 'signed-out');
  });

  test('use at most twenty connections per owner: a new one replaces the oldest', async () => {
    const listeners: EventListener[] = [];
    for (let count = 0; count < 21; count += 1) listeners.push(await EventListener.open(client));
    const [oldest, ...others] = listeners as [EventListener, ...EventListener[]];
    await eventually('it ends', promisedMs, () => oldest.isOver, Boolean);
    assert.equal(oldest.retryMs, 60_000, 'and does not close another at once');
    assert.ok(others.every(({ isOver }) => !isOver));
    for (const listener of others) listener.close();
  });

  test('of a heavy burst become a hint to read the list, and no client is disconnected', async (t) => {
    const listener = await EventListener.open(client);
    t.after(() => listener.close());
    await Promise.all(
      Array.from({ length: 40 }, (_, count) => arrive(`heavy ${count}`, newId(), { x: 'x'.repeat(200_000) })),
    );
    await listener.waitFor('a hint comes', 3000, ({ event }) => event === 'changed');
    await Promise.all(Array.from({ length: 700 }, (_, count) => arrive(`light ${count}`)));
    await arrive('the last');
    await eventually(
      'the stream continues',
      5000,
      () => arrive('afterwards').then(() => listener.arrivedTitles),
      (titles) => titles.includes('afterwards'),
    );
    assert.equal(listener.isOver, false);
  });
});
