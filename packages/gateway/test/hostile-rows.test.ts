// Reading, searching and delivering any stored data blocks no other work: no requests of other owners, no health check,
// no broker.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ConsoleClient, linkFor, signInAtFirstRun } from '@tocsin/test-support/console-client.ts';
import { EventListener, search } from '@tocsin/test-support/console-streams.ts';
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { GatewayProcess } from '@tocsin/test-support/gateway-process.ts';
import { hostileContents } from '@tocsin/test-support/hostile-contents.ts';
import { installWithSmtp } from '@tocsin/test-support/install.ts';
import { Postgres, postgresObstacle } from '@tocsin/test-support/postgres.ts';
import { notify } from '@tocsin/test-support/requests.ts';
import { canRun } from '@tocsin/test-support/requires.ts';

/** Far more than any step here should take, and far less than the 30 s that one row once took. */
const patienceMs = 5000;

/** Repeats requests of other clients, and keeps the slowest time of each kind. */
function watchOthers(gateway: GatewayProcess): { slowest: Record<string, number>; stop: () => Promise<void> } {
  const slowest: Record<string, number> = {};
  let isOver = false;
  const again = async (name: string, ask: () => Promise<unknown>): Promise<void> => {
    while (!isOver) {
      const startedAt = performance.now();
      await ask();
      slowest[name] = Math.max(slowest[name] ?? 0, performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const running = [
    again('a notification over the broker', async () => {
      const { status, body } = await notify({ api: gateway.api, key: gateway.key }, { title: 'Other' });
      assert.deepEqual([status, body.stored, body.mqttPublishedCount], [200, true, 1]);
    }),
    again('/healthz', async () => assert.equal((await fetch(`${gateway.line.console}/healthz`)).status, 200)),
  ];
  return {
    slowest,
    stop: async () => {
      isOver = true;
      await Promise.all(running);
    },
  };
}

async function attack(t: TestContext, environment: Record<string, string>): Promise<void> {
  const { installation, smtp } = await installWithSmtp(t, {
    ...environment,
  });
  const gateway = await installation.serve();
  const ann = await signInAtFirstRun(gateway);
  const { id: bobId } = await installation.json('owner', 'create', '--name', 'Bob', '--email', 'bob@example.com');
  const { key } = await installation.json('key', 'create', '--owner', bobId as string);
  const bob = new ConsoleClient(gateway.line.console);
  await bob.useLink(await linkFor(installation, bob.origin, bobId as string));
  const feed = await EventListener.open(bob);
  t.after(() => feed.close());

  const others = watchOthers(gateway);
  const contents = hostileContents();
  for (const { name, content } of contents) {
    const { status, body } = await notify({ api: gateway.api, key: key as string }, { ...content, sendEmail: true });
    assert.deepEqual([status, body.stored], [200, true], name);
  }
  await eventually(
    'all were emailed',
    60_000,
    () => smtp.emails.length,
    (count) => count >= contents.length,
  );
  const words = await search(bob, { q: 'nothing has these words' });
  assert.deepEqual(words.last.kind === 'end' && [words.last.opened, words.last.skipped], [contents.length, 0]);
  const all = await search(bob, { limit: '100' });
  assert.equal(all.matches.length, contents.length);
  for (const { id } of all.matches) assert.equal((await bob.fetch(`/api/notifications/${id}`)).status, 200);
  assert.equal((await bob.fetch('/api/notifications?limit=100')).status, 200);
  await others.stop();
  assert.equal((await ann.fetch('/api/notifications')).status, 200);
  t.diagnostic(JSON.stringify(others.slowest));
  for (const [name, ms] of Object.entries(others.slowest)) {
    assert.ok(ms < patienceMs, `${name} took ${ms.toFixed()} ms during the search of another owner`);
  }
}

test('Hostile rows in SQLite do not block other owners', (t) => attack(t, {}));

test('Hostile rows in PostgreSQL do not block other owners', async (t) => {
  if (!canRun(t, postgresObstacle())) return;
  const postgres = await Postgres.start();
  t.after(() => postgres.stop());
  await attack(t, { TOCSIN_DATABASE_URL: await postgres.createDatabase() });
});
