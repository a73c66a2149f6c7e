import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sampleNotification } from '@tocsin/test-support/push-channel.ts';
import type { BreakerState, ChannelTarget, OpenChannel, SendOptions } from '../core/channel.ts';
import { type Outcome, retry } from '../core/outcome.ts';
import type { ChannelModule, ChannelTools } from './module.ts';
import { openChannels } from './registry.ts';

const options: SendOptions = { qos: 1, customBroker: null };
const targets: readonly ChannelTarget[] = [{ id: '' }];

interface PagerSettings {
  timeoutMs: number;
}

/** An instance of a class: its methods are on the prototype and use private fields. */
class PagerSender implements OpenChannel {
  readonly #respond: () => Promise<Outcome>;
  isClosed = false;

  constructor(respond: () => Promise<Outcome>) {
    this.#respond = respond;
  }

  async send(): Promise<readonly Outcome[]> {
    return [await this.#respond()];
  }

  async check(): Promise<string | null> {
    const outcome = await this.#respond();
    return outcome.kind === 'sent' ? null : 'The pager service is down.';
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

async function openPager(respond: () => Promise<Outcome>, guard: ChannelModule<ChannelTarget, PagerSettings>['guard']) {
  const sender = new PagerSender(respond);
  const module: ChannelModule<ChannelTarget, PagerSettings> = {
    name: 'pager',
    label: 'Pager',
    provider: 'The pager service',
    guard,
    notConfigured: 'No pager service is configured',
    settings: () => null,
    plan: () => ({ channel: module, enabled: true, targets, skipReason: null }),
    planFromDispatch: () => ({ channel: module, enabled: true, targets: [], skipReason: null }),
    resolve: () => ({ id: '' }),
    describe: async () => new Map(),
    open: async () => sender,
  };
  const breakerStates: [string, BreakerState, string][] = [];
  const tools = { onBreakerState: (...change: [string, BreakerState, string]) => breakerStates.push(change) };
  const set = await openChannels(new Map([['pager', { timeoutMs: 300 }]]), tools as unknown as ChannelTools, [module]);
  const channel = set.channels.get('pager') as OpenChannel;
  const send = async (): Promise<Outcome | undefined> =>
    (await channel.send(sampleNotification, targets, options, new AbortController().signal))[0];
  return { sender, module, set, channel, send, breakerStates };
}

const limits = { timeoutMs: ({ timeoutMs }: PagerSettings) => timeoutMs, maxConcurrent: 2 };

suite('A channel that is opened from the registry', () => {
  test('has the timeout of its settings', async () => {
    const { channel } = await openPager(async () => ({ kind: 'sent' }), limits);
    assert.equal(channel.timeoutMs?.(options), 300);
  });

  test('runs a limited number of sends, and as many again wait', async () => {
    const response = Promise.withResolvers<Outcome>();
    let running = 0;
    const { send } = await openPager(() => {
      running += 1;
      return response.promise;
    }, limits);
    const accepted = [send(), send(), send(), send()];
    assert.deepEqual(await send(), retry('not_attempted', 'The pager service: too many messages are waiting'));
    assert.equal(running, 2);
    response.resolve({ kind: 'sent' });
    for (const outcome of await Promise.all(accepted)) assert.deepEqual(outcome, { kind: 'sent' });
  });

  test('is not attempted while its breaker is open, which is reported under its name', async () => {
    let attempts = 0;
    const { send, breakerStates } = await openPager(async () => {
      attempts += 1;
      return retry('unreachable', 'The pager service cannot be reached');
    }, limits);
    for (let count = 0; count < 5; count += 1) await send();
    assert.deepEqual(await send(), retry('circuit_open', 'The pager service is not reachable at the moment'));
    assert.equal(attempts, 5);
    assert.deepEqual(breakerStates, [['pager', 'open', 'The pager service cannot be reached']]);
  });

  test('keeps its other methods', async () => {
    const { sender, module, set, channel } = await openPager(async () => ({ kind: 'sent' }), limits);
    assert.equal(set.get(module), channel);
    assert.equal(await channel.check(), null);
    await set.close();
    assert.equal(sender.isClosed, true);
  });

  test('is left as it is if it has guards of its own', async () => {
    const { channel, send } = await openPager(async () => retry('unreachable', 'Down'), 'own');
    assert.equal(channel.timeoutMs, undefined);
    for (let count = 0; count < 10; count += 1) assert.deepEqual(await send(), retry('unreachable', 'Down'));
  });
});
