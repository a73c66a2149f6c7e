// `tocsin push test`.
import { pushChannel } from '../channels/push/index.ts';
import { type Command, notFound, withStore } from './command.ts';
import { sendTest } from './test-sends.ts';

export const testPushCommand: Command = {
  summary: 'Send a test to a push target',
  positional: 'ID',
  run: ({ positional }, environment) =>
    withStore(environment, async (store, config) => {
      const target = (await store.pushTargets.find(positional)) ?? notFound('push', positional);
      return sendTest(config, store, {
        channel: pushChannel,
        ownerId: target.ownerId,
        target,
        success: `${target.provider} accepted the test for ${target.id}.`,
      });
    }),
};
