// Requirements on every channel, whatever its protocol. channel-contract.test.ts runs this suite for each of them.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { sampleNotification } from '@tocsin/test-support/push-channel.ts';
import { canRun, type Obstacle } from '@tocsin/test-support/requires.ts';
import type { Channel, ChannelTarget, SendOptions } from '../src/core/channel.ts';
import type { NotSent, Outcome } from '../src/core/outcome.ts';

/** States of the provider and of the target at it, with the words for them in the name of a test. */
const states = {
  healthy: 'the provider is healthy',
  busy: 'the provider is busy',
  gone: 'the target no longer exists',
  refusing: 'the provider refuses the message',
  hanging: 'the provider does not respond',
  unreachable: 'the provider cannot be reached',
};

export type ProviderState = keyof typeof states;

/** Channels of the registry for which this process runs the suite. */
export const testedChannels = new Set<string>();

export interface ChannelFixture<Target extends ChannelTarget> {
  channel: Channel<Target>;
  newTarget(): Target;
  options?: Partial<SendOptions>;
  simulate(state: ProviderState): void | Promise<void>;
  /** Texts that must not appear in an error: passwords, tokens, and responses of the provider. */
  secrets: string[];
}

export interface ChannelTraits {
  /** Its name in the registry. */
  channel: string;
  obstacle?: Obstacle;
  /** Expected outcome of a message in each state that the fixture can simulate. */
  outcomes: Partial<Record<ProviderState, Outcome['kind']>>;
}

/** Of a provider that reports every state. */
export const usualOutcomes: ChannelTraits['outcomes'] = {
  healthy: 'sent',
  busy: 'retry',
  gone: 'gone',
  refusing: 'rejected',
  hanging: 'retry',
  unreachable: 'retry',
};

const settleMs = 1000;

export function runChannelContract<Target extends ChannelTarget>(
  name: string,
  { channel, obstacle = null, outcomes }: ChannelTraits,
  createFixture: (t: TestContext) => Promise<ChannelFixture<Target>>,
): void {
  testedChannels.add(channel);
  const known = Object.keys(outcomes) as ProviderState[];

  suite(`The channel ${name}`, () => {
    async function send(
      fixture: ChannelFixture<Target>,
      targets: Target[],
      signal: AbortSignal,
    ): Promise<readonly Outcome[]> {
      const options = { qos: 1, customBroker: null, ...fixture.options } as const;
      return fixture.channel.send(sampleNotification, targets, options, signal);
    }

    for (const state of known) {
      const expected = outcomes[state];
      const result = expected === 'sent' ? expected : `${expected}, with an error that contains no secret,`;
      test(`returns ${result} when ${states[state]}`, async (t) => {
        if (!canRun(t, obstacle)) return;
        const fixture = await createFixture(t);
        await fixture.simulate(state);
        const [outcome] = await send(
          fixture,
          [fixture.newTarget()],
          AbortSignal.timeout(state === 'hanging' ? 300 : 10_000),
        );
        assert.equal(outcome?.kind, expected, JSON.stringify(outcome));
        if (outcome?.kind === 'sent') return;
        const { error } = outcome as NotSent;
        assert.match(error, /^[A-Z]/, 'an error is a sentence');
        for (const secret of fixture.secrets) assert.ok(!error.includes(secret), error);
      });
    }

    if (!known.includes('healthy')) return;

    test('returns one outcome per target, in order, and none without targets', async (t) => {
      if (!canRun(t, obstacle)) return;
      const fixture = await createFixture(t);
      await fixture.simulate('healthy');
      const targets = Array.from({ length: 5 }, () => fixture.newTarget());
      assert.deepEqual(
        await send(fixture, targets, AbortSignal.timeout(10_000)),
        targets.map(() => ({ kind: 'sent' })),
      );
      assert.deepEqual(await send(fixture, [], AbortSignal.timeout(10_000)), []);
    });

    if (!known.includes('hanging')) return;

    test('settles at once when it is aborted, and works again afterwards', async (t) => {
      if (!canRun(t, obstacle)) return;
      const fixture = await createFixture(t);
      await fixture.simulate('hanging');
      const controller = new AbortController();
      const sending = send(fixture, [fixture.newTarget(), fixture.newTarget()], controller.signal);
      setTimeout(() => controller.abort(), 100);
      const start = performance.now();
      const kinds = (await sending).map(({ kind }) => kind);
      assert.deepEqual(kinds, [outcomes.hanging, outcomes.hanging]);
      assert.ok(performance.now() - start < settleMs + 100, `${performance.now() - start} ms`);
      await fixture.simulate('healthy');
      const [outcome] = await send(fixture, [fixture.newTarget()], AbortSignal.timeout(10_000));
      assert.equal(outcome?.kind, 'sent', JSON.stringify(outcome));
    });

    test('settles at once when it was aborted before it began', async (t) => {
      if (!canRun(t, obstacle)) return;
      const fixture = await createFixture(t);
      await fixture.simulate('hanging');
      const start = performance.now();
      const [outcome] = await send(fixture, [fixture.newTarget()], AbortSignal.abort());
      assert.equal(outcome?.kind, outcomes.hanging);
      assert.ok(performance.now() - start < settleMs);
    });
  });
}
