// kill -9 under load, again and again, on one store, with a device and an SMTP server; then the store and both receivers are
// compared with the responses to the callers.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { SuccessResponse } from '@tocsin/contract';
import type { Store } from '../../gateway/src/usecases/ports/index.ts';
import { Connections } from './connections.ts';
import { eventually } from './eventually.ts';
import type { Installation } from './gateway-process.ts';
import { KillReceivers } from './kill-receivers.ts';
import { readAll } from './stored-notifications.ts';

const connectionCount = 16;
const longestRunMs = 500;

export interface KillRun {
  installation: Installation;
  kills: number;
  /** Opens the store as the gateway does, after the last kill. */
  withStore<T>(use: (store: Store) => Promise<T>): Promise<T>;
}

/** The responses to the callers, over all starts of the gateway. */
class Ledger {
  readonly sent = new Set<string>();
  readonly titleOfAcknowledged = new Map<string, string>();
  readonly refused: string[] = [];
  interrupted = 0;
  #count = 0;

  nextTitle(): string {
    this.#count += 1;
    const title = `notification ${this.#count}`;
    this.sent.add(title);
    return title;
  }
}

/** Fails unless every acknowledged notification is stored exactly once, can be decrypted, and reached its receivers. */
export async function surviveKills(t: TestContext, run: KillRun): Promise<void> {
  const ledger = new Ledger();
  const receivers = await KillReceivers.start(t, run.installation);
  const { key, owner } = receivers.firstRun;
  for (let kill = 0; kill < run.kills; kill += 1) {
    const gateway = await run.installation.serve();
    receivers.connect(gateway);
    const before = ledger.titleOfAcknowledged.size;
    const load = putUnderLoad({ api: gateway.api, key }, ledger);
    // Half of the kills come at any moment after the start, the others at any moment under load, however slow the machine is.
    if (kill % 2 === 1) {
      const acknowledged = () => ledger.titleOfAcknowledged.size;
      await eventually('a request is answered', 30_000, acknowledged, (count) => count > before);
    }
    // Random, to hit any point of a batch, a commit or a checkpoint.
    await delay(randomInt(5, longestRunMs));
    await gateway.kill();
    await load;
  }
  assert.deepEqual(ledger.refused, [], 'a healthy store refuses nothing');
  assert.ok(ledger.titleOfAcknowledged.size > run.kills, 'the load was too thin to prove anything');
  assert.ok(ledger.interrupted > 0, 'no kill hit a request');
  await run.withStore((store) => compare(t, store, owner, run.kills, ledger));
  t.diagnostic(
    await receivers.settle(run.installation, run.withStore, ledger.titleOfAcknowledged, (title) => isEmailed(title)),
  );
}

/** Every eighth is also sent by email. */
function isEmailed(title: string): boolean {
  return Number(title.split(' ')[1]) % 8 === 0;
}

/** Ends when the gateway does: each connection sends one request after another until one fails. */
async function putUnderLoad(target: { api: string; key: string }, ledger: Ledger): Promise<void> {
  const connections = new Connections(target, connectionCount);
  const sendUntilInterrupted = async (): Promise<void> => {
    for (;;) {
      const title = ledger.nextTitle();
      let answer: { status: number; text: string };
      try {
        answer = await connections.notify({ title, mqttQos: 1, sendEmail: isEmailed(title), ...contentFor(title) });
      } catch {
        ledger.interrupted += 1;
        return;
      }
      const body = JSON.parse(answer.text) as SuccessResponse;
      if (answer.status === 200 && body.stored) ledger.titleOfAcknowledged.set(body.id, title);
      else ledger.refused.push(answer.text);
    }
  };
  await Promise.all(Array.from({ length: connectionCount }, sendUntilInterrupted));
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

async function compare(t: TestContext, store: Store, ownerId: string, kills: number, ledger: Ledger): Promise<void> {
  assert.deepEqual(await store.maintenance.verify(), [], 'the database is sound');
  const { notifications, damaged } = await readAll(store, ownerId);
  assert.deepEqual(damaged, []);
  const titleOfStored = new Map(notifications.map(({ id, content }) => [id, content.title]));
  assert.equal(titleOfStored.size, notifications.length, 'no id is there twice');
  assert.equal(new Set(titleOfStored.values()).size, notifications.length, 'no notification is there twice');
  const lost = [...ledger.titleOfAcknowledged].filter(([id, title]) => titleOfStored.get(id) !== title);
  assert.deepEqual(lost, [], 'acknowledged, yet not in the store under its id and title');
  for (const { content } of notifications) {
    const { title, body, data } = content;
    assert.ok(ledger.sent.has(title), `${title} was never sent`);
    assert.deepEqual({ body, data: { ...data } }, contentFor(title), `${title} is not what was sent`);
  }
  const unconfirmed = notifications.length - ledger.titleOfAcknowledged.size;
  t.diagnostic(
    `${kills} kills: ${ledger.titleOfAcknowledged.size} acknowledged, 0 lost; ` +
      `${ledger.interrupted} requests interrupted, ${unconfirmed} of them stored`,
  );
}
