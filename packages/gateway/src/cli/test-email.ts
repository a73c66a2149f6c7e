// `tocsin owner test-email`.
import { emailChannel } from '../channels/email/index.ts';
import { mailbox } from '../channels/email/target.ts';
import { printable } from '../core/printable.ts';
import { Problem } from '../core/problem.ts';
import { type Command, notFound, withStore } from './command.ts';
import { sendTest } from './test-sends.ts';

export const testEmailCommand: Command = {
  summary: 'Send a test email to an owner',
  positional: 'ID',
  run: ({ positional }, environment) =>
    withStore(environment, async (store, config) => {
      const owner = (await store.owners.find(positional)) ?? notFound('owner', positional);
      const { email: address } = owner;
      if (address === null)
        throw new Problem(`${printable(owner.name)} has no address: 'tocsin owner set ${owner.id} --email ADDRESS'.`);
      return sendTest(config, store, {
        channel: emailChannel,
        ownerId: owner.id,
        target: mailbox(address),
        success: `The SMTP server accepted the test email for ${address}.`,
      });
    }),
};
