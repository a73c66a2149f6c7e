// kill -9 under load, again and again, on one data directory. TOCSIN_TEST_KILLS=2000 makes it a long run.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { SuccessAnswer } from '@tocsin/contract';
import { Connections } from './support/connections.ts';
import { Installation } from './support/gateway-process.ts';
import { readAll, withStore } from './support/stored-notifications.ts';

const kills = Number(process.env.TOCSIN_TEST_KILLS ?? 20);
const connectionCount = 16;
const longestRunMs = 500;

/** What the callers saw, over all the lives of the gateway. */
class Ledger {
  readonly sent = new Set<string>();
  readonly titleOfAcknowledged = new Map<string, string>();
  readonly refused: string[] = [];
  cutOff = 0;
  #count = 0;

  nextTitle(): string {
    this.#count += 1;
    const title = `notification ${this.#count}`;
    this.sent.add(title);
    return title;
  }
}

test(`After ${kills} kills under load every acknowledged notification is stored exactly once and opens`, {
  timeout: 60_000 + kills * 5_000,
}, async (t) => {
  const installation = await Installation.create({ TOCSIN_LOG_LEVEL: 'silent' });
  t.after(() => installation.remove());
  const ledger = new Ledger();
  let firstRun: { key: string; owner: string } | undefined;
  for (let kill = 0; kill < kills; kill += 1) {
    const gateway = await installation.serve();
    firstRun ??= gateway.line.firstRun;
    assert.ok(firstRun);
    const load = putUnderLoad({ api: gateway.api, key: firstRun.key }, ledger);
    // The moment is what is tried here: any point of a batch, a commit or a checkpoint.
    await delay(randomInt(5, longestRunMs));
    await gateway.kill();
    await load;
  }
  assert.ok(firstRun);
  assert.deepEqual(ledger.refused, [], 'a healthy store refuses nothing');
  assert.ok(ledger.titleOfAcknowledged.size > kills, 'the load was too thin to prove anything');
  assert.ok(ledger.cutOff > 0, 'no kill hit a request');
  await compareWithStore(t, installation.dataDir, firstRun.owner, ledger);
});

/** Ends when the gateway does: each connection sends one request after another until one fails. */
async function putUnderLoad(target: { api: string; key: string }, ledger: Ledger): Promise<void> {
  const connections = new Connections(target, connectionCount);
  const sendUntilCutOff = async (): Promise<void> => {
    for (;;) {
      const title = ledger.nextTitle();
      let answer: { status: number; text: string };
      try {
        answer = await connections.notify({ title, ...contentFor(title) });
      } catch {
        ledger.cutOff += 1;
        return;
      }
      const body = JSON.parse(answer.text) as SuccessAnswer;
      if (answer.status === 200 && body.stored) ledger.titleOfAcknowledged.set(body.id, title);
      else ledger.refused.push(answer.text);
    }
  };
  await Promise.all(Array.from({ length: connectionCount }, sendUntilCutOff));
  connections.close();
}

/** Follows from the title, so that a row can be checked as a whole; every 16th spans several database pages. */
function contentFor(title: string): { body: string; data: { filler: string } } {
  const number = Number(title.split(' ')[1]);
  return {
    body: `${title}, `.repeat((number % 60) + 1).trim(),
    data: { filler: title.repeat(number % 16 === 0 ? 800 : 1) },
  };
}

async function compareWithStore(t: TestContext, dataDir: string, ownerId: string, ledger: Ledger): Promise<void> {
  await withStore(dataDir, async (store) => {
    assert.deepEqual(await store.verify(), [], 'the database is sound');
    const { notifications, damaged } = await readAll(store, ownerId);
    assert.deepEqual(damaged, []);
    const titleOfStored = new Map(notifications.map(({ id, title }) => [id, title]));
    assert.equal(titleOfStored.size, notifications.length, 'no id is there twice');
    assert.equal(new Set(titleOfStored.values()).size, notifications.length, 'no notification is there twice');
    const lost = [...ledger.titleOfAcknowledged].filter(([id, title]) => titleOfStored.get(id) !== title);
    assert.deepEqual(lost, [], 'acknowledged, yet not in the store under its id and title');
    for (const { title, body, data } of notifications) {
      assert.ok(ledger.sent.has(title), `${title} was never sent`);
      assert.deepEqual({ body, data: { ...data } }, contentFor(title), `${title} is not what was sent`);
    }
    const unconfirmed = notifications.length - ledger.titleOfAcknowledged.size;
    t.diagnostic(
      `${kills} kills: ${ledger.titleOfAcknowledged.size} acknowledged, 0 lost; ` +
        `${ledger.cutOff} requests cut off, ${unconfirmed} of them stored`,
    );
  });
}
