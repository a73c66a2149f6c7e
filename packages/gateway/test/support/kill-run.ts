// kill -9 under load, again and again, on one store; then the store is held against what the callers were told.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { SuccessAnswer } from '@tocsin/contract';
import type { Store } from '../../src/gateway/ports.ts';
import { Connections } from './connections.ts';
import type { Installation } from './gateway-process.ts';
import { readAll } from './stored-notifications.ts';

const connectionCount = 16;
const longestRunMs = 500;

export interface KillRun {
  installation: Installation;
  kills: number;
  /** Opens the store as the gateway does, once all the killing is over. */
  withStore<T>(use: (store: Store) => Promise<T>): Promise<T>;
  /** Of an installation that has run before. */
  firstRun?: { key: string; owner: string };
}

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

/** Fails unless every acknowledged notification is stored exactly once and opens; gives the ids of all that is stored. */
export async function surviveKills(t: TestContext, run: KillRun): Promise<string[]> {
  const ledger = new Ledger();
  let { firstRun } = run;
  for (let kill = 0; kill < run.kills; kill += 1) {
    const gateway = await run.installation.serve();
    firstRun ??= gateway.line.firstRun;
    assert.ok(firstRun);
    const load = putUnderLoad({ api: gateway.api, key: firstRun.key }, ledger);
    // The moment is what is tried here: any point of a batch, a commit or a checkpoint.
    await delay(randomInt(5, longestRunMs));
    await gateway.kill();
    await load;
  }
  assert.ok(firstRun);
  const { owner } = firstRun;
  assert.deepEqual(ledger.refused, [], 'a healthy store refuses nothing');
  assert.ok(ledger.titleOfAcknowledged.size > run.kills, 'the load was too thin to prove anything');
  assert.ok(ledger.cutOff > 0, 'no kill hit a request');
  return run.withStore((store) => compare(t, store, owner, run.kills, ledger));
}

/** Ends when the gateway does: each connection sends one request after another until one fails. */
async function putUnderLoad(target: { api: string; key: string }, ledger: Ledger): Promise<void> {
  const connections = new Connections(target, connectionCount);
  const sendUntilCutOff = async (): Promise<void> => {
    for (;;) {
      const title = ledger.nextTitle();
      let answer: { status: number; text: string };
      try {
        answer = await connections.notify({ title, mqttQos: 1, ...contentFor(title) });
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

async function compare(
  t: TestContext,
  store: Store,
  ownerId: string,
  kills: number,
  ledger: Ledger,
): Promise<string[]> {
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
  return [...titleOfStored.keys()];
}
