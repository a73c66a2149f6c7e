// The id that a sender gives to a delivery: it sends the same one again if it repeats the request.
import type { SenderRequest } from './event.ts';

const headerNames = [
  'x-github-delivery',
  'x-gitlab-event-uuid',
  'x-gitea-delivery',
  'x-forgejo-delivery',
  'webhook-id',
  'svix-id',
  'request-id',
  'linear-delivery',
  'x-shopify-event-id',
  'x-amz-sns-message-id',
  'idempotency-key',
];

/** undefined: the sender has none. */
export function deliveryIdOf({ headers }: Pick<SenderRequest, 'headers'>): string | undefined {
  for (const name of headerNames) {
    const value = headers[name]?.trim();
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}
