// Standard Webhooks: Svix, OpenAI, Resend, Clerk and others. The specification fixes `type`, `timestamp` and `data`.
import { membersOf, type Preset, textOf } from '../event.ts';
import { severityOfType } from '../severity.ts';
import { standardWebhooksProblem } from '../signatures/standard-webhooks.ts';

/** Members of `data` that say which thing the event is about, and in words what happened. */
const nameMembers = ['name', 'title', 'subject', 'id'];
const messageMembers = ['message', 'reason', 'error', 'description'];

export const standardWebhooks: Preset = {
  name: 'standard-webhooks',
  label: 'Standard Webhooks',
  matches: ({ headers }) => ['webhook-signature', 'svix-signature'].some((name) => headers[name] !== undefined),

  read({ body: { value } }) {
    const event = membersOf(value);
    const type = textOf(event.type);
    if (type === undefined) return null;
    const data = membersOf(event.data);
    const texts = (names: readonly string[]) =>
      names.map((name) => textOf(data[name])).find((text) => text !== undefined);
    return {
      title: type,
      body: [texts(nameMembers), texts(messageMembers)].filter((text) => text !== undefined).join('\n'),
      severity: severityOfType(type),
    };
  },

  signatureProblem: standardWebhooksProblem,
};
