// Web Push, RFC 8030: one POST to the endpoint of each subscription.
import type { Outcome } from '../../core/outcome.ts';
import { EgressRefused } from '../../egress/index.ts';
import { timeToLiveSeconds, topicOf, urgencyOf, webPushPayload } from './format.ts';
import { Failure, invalidToken, type PushProvider, retryLater } from './provider.ts';
import { parseRetryAfter } from './retry-after.ts';
import { parseSubscription } from './token.ts';
import { createVapidAuthorization, type VapidKeys } from './vapid.ts';
import type { WebPushDial } from './web-push-dial.ts';
import { encryptWebPush } from './web-push-encryption.ts';

export interface WebPushParts {
  vapid: VapidKeys;
  subject: string;
  dial: WebPushDial;
  /** Push services besides the known ones. */
  hosts: readonly string[];
  retentionDays: number;
  now(): number;
}

export function createWebPush({ vapid, subject, dial, hosts, retentionDays, now }: WebPushParts): PushProvider {
  const authorize = createVapidAuthorization(vapid, subject, now);
  return {
    name: 'Web Push',
    prepare(notification) {
      const payload = webPushPayload(notification);
      const headers = {
        'content-type': 'application/octet-stream',
        'content-encoding': 'aes128gcm',
        urgency: urgencyOf(notification.content),
        topic: topicOf(notification.id),
      };
      return async (token, signal) => {
        const subscription = parseSubscription(token, hosts);
        if ('problem' in subscription) return invalidToken('Web Push', subscription.problem);
        const { endpoint } = subscription;
        const request = {
          headers: {
            ...headers,
            ttl: String(timeToLiveSeconds(notification.createdAt, now(), retentionDays)),
            authorization: authorize(endpoint.origin),
          },
          body: encryptWebPush(payload, subscription),
        };
        const response = await dial(endpoint, request, signal).catch((error) => {
          throw signal.aborted ? error : notReached(endpoint.host, error);
        });
        return outcomeOfStatus(endpoint.host, response.status, parseRetryAfter(response.headers['retry-after'], now()));
      };
    },
    check: async () => undefined,
    close: async () => undefined,
  };
}

/** What the dialer says in words may hold the endpoint, which is a secret, or an address inside our network. */
function notReached(host: string, error: unknown): Failure {
  if (error instanceof EgressRefused) {
    const text = `The push service ${host} is at an address that may not be called`;
    return new Failure({ kind: 'rejected', reason: 'invalid_target', error: text });
  }
  const { code } = error as { code?: unknown };
  const detail = typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? ` (${code})` : '';
  return new Failure({
    kind: 'retry',
    reason: 'unreachable',
    error: `The push service ${host} cannot be reached${detail}`,
  });
}

/** RFC 8030 sections 5, 7.2 and 7.3, RFC 8292 section 4.2. */
function outcomeOfStatus(host: string, status: number, retryAfterMs: number | undefined): Outcome {
  const service = `The push service ${host}`;
  switch (status) {
    case 200:
    case 201:
    case 202:
      return { kind: 'sent' };
    case 404:
    case 410:
      return { kind: 'gone', error: `${service} says that the subscription has ended (${status})` };
    case 401:
    case 403:
      return {
        kind: 'rejected',
        reason: 'refused',
        error: `${service} does not accept our key (${status}): the subscription was made with another one, or TOCSIN_WEBPUSH_SUBJECT is no contact it takes`,
      };
    case 413:
      return { kind: 'rejected', reason: 'refused', error: `${service} finds the message too large (413)` };
    case 429:
      return retryLater(`${service} asks for fewer messages (429)`, retryAfterMs);
  }
  if (status >= 400 && status < 500)
    return { kind: 'rejected', reason: 'refused', error: `${service} refuses the message (${status})` };
  return retryLater(`${service} cannot take the message now (${status})`, retryAfterMs);
}
