// Requirements on every channel, whatever its protocol. channel-contract.test.ts runs this suite for each of them.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { sampleNotification } from '@tocsin/test-support/push-channel.ts';
import { canRun, type Obstacle } from '@tocsin/test-support/requires.ts';
import type { Channel, ChannelTarget, SendOptions } from '../src/core/channel.ts';
import type { NotSent, Outcome } from '../src/core/outcome.ts';

/** How the provider at the other end behaves. */
export type Situation = 'well' | 'busy' | 'gone' | 'refusing' | 'silent' | 'away';

export interface ChannelFixture<Target extends ChannelTarget> {
  channel: Channel<Target>;
  newTarget(): Target;
  options?: Partial<SendOptions>;
  /** Makes the provider behave as in the situation. */
  bring(situation: Situation): void | Promise<void>;
  /** Texts that must not appear in an error: passwords, tokens, and responses of the provider. */
  secrets: string[];
}

export interface ChannelTraits {
  obstacle?: Obstacle;
  /** Expected outcome of a message in each situation that this channel supports. */
  outcomes: Partial<Record<Situation, Outcome['kind']>>;
}

const settleMs = 1000;

export function runChannelContract<Target extends ChannelTarget>(
  name: string,
  { obstacle = null, outcomes }: ChannelTraits,
  createFixture: (t: TestContext) => Promise<ChannelFixture<Target>>,
): void {
  const known = Object.keys(outcomes) as Situation[];

  suite(`The channel ${name}`, () => {
    async function send(
      fixture: ChannelFixture<Target>,
      targets: Target[],
      signal: AbortSignal,
    ): Promise<readonly Outcome[]> {
      const options = { qos: 1, customBroker: null, ...fixture.options } as const;
      return fixture.channel.send(sampleNotification, targets, options, signal);
    }

    for (const situation of known) {
      test(`ends as ${outcomes[situation]} when the provider is ${situation}, with an error that reveals nothing`, async (t) => {
        if (!canRun(t, obstacle)) return;
        const fixture = await createFixture(t);
        await fixture.bring(situation);
        const [outcome] = await send(
          fixture,
          [fixture.newTarget()],
          AbortSignal.timeout(situation === 'silent' ? 300 : 10_000),
        );
        assert.equal(outcome?.kind, outcomes[situation], JSON.stringify(outcome));
        if (outcome?.kind === 'sent') return;
        const { error } = outcome as NotSent;
        assert.match(error, /^[A-Z]/, 'an error is a sentence');
        for (const secret of fixture.secrets) assert.ok(!error.includes(secret), error);
      });
    }

    if (!known.includes('well')) return;

    test('returns one outcome per target, in order, and none without targets', async (t) => {
      if (!canRun(t, obstacle)) return;
      const fixture = await createFixture(t);
      await fixture.bring('well');
      const targets = Array.from({ length: 5 }, () => fixture.newTarget());
      assert.deepEqual(
        await send(fixture, targets, AbortSignal.timeout(10_000)),
        targets.map(() => ({ kind: 'sent' })),
      );
      assert.deepEqual(await send(fixture, [], AbortSignal.timeout(10_000)), []);
    });

    if (!known.includes('silent')) return;

    test('settles at once when it is aborted, and works again afterwards', async (t) => {
      if (!canRun(t, obstacle)) return;
      const fixture = await createFixture(t);
      await fixture.bring('silent');
      const controller = new AbortController();
      const sending = send(fixture, [fixture.newTarget(), fixture.newTarget()], controller.signal);
      setTimeout(() => controller.abort(), 100);
      const start = performance.now();
      const kinds = (await sending).map(({ kind }) => kind);
      assert.deepEqual(kinds, [outcomes.silent, outcomes.silent]);
      assert.ok(performance.now() - start < settleMs + 100, `${performance.now() - start} ms`);
      await fixture.bring('well');
      const [outcome] = await send(fixture, [fixture.newTarget()], AbortSignal.timeout(10_000));
      assert.equal(outcome?.kind, 'sent', JSON.stringify(outcome));
    });

    test('settles at once when it was aborted before it began', async (t) => {
      if (!canRun(t, obstacle)) return;
      const fixture = await createFixture(t);
      await fixture.bring('silent');
      const start = performance.now();
      const [outcome] = await send(fixture, [fixture.newTarget()], AbortSignal.abort());
      assert.equal(outcome?.kind, outcomes.silent);
      assert.ok(performance.now() - start < settleMs);
    });
  });
}
