// Apple Push Notification service over HTTP/2, authenticated by a provider token.

import type { NotSent, Outcome } from '../../core/outcome.ts';
import type { ApnsConfig } from './config.ts';
import { apnsExpiration, apnsPayload, apnsPriority, timeToLiveSeconds, urgencyOf } from './format.ts';
import { createHttp2Client, type Http2Response } from './http2-client.ts';
import { readPrivateKey, signJwt } from './jwt.ts';
import { invalidToken, type PushProvider, retryLater } from './provider.ts';
import { parseRetryAfter } from './retry-after.ts';
import { apnsTokenProblem } from './token.ts';

export interface ApnsParts {
  timeoutMs: number;
  retentionDays: number;
  now(): number;
  ca?: string | undefined;
}

/** Apple refuses tokens older than an hour, and dislikes new ones more often than every 20 minutes. */
const tokenLifetimeMs = 50 * 60 * 1000;
const uuidShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const maxCollapseIdBytes = 64;

export function createApns(config: ApnsConfig, { timeoutMs, retentionDays, now, ca }: ApnsParts): PushProvider {
  const { origin } = new URL(config.endpoint);
  const client = createHttp2Client({ name: 'APNs', origin, connectTimeoutMs: timeoutMs, ca });
  const tokens = createProviderTokens(config, now);

  return {
    name: 'APNs',
    prepare(notification) {
      const body = apnsPayload(notification);
      const { id, createdAt } = notification;
      const headers = {
        'apns-topic': config.topic,
        'apns-push-type': 'alert',
        'apns-priority': apnsPriority(urgencyOf(notification.content)),
        'apns-expiration': apnsExpiration(now(), timeToLiveSeconds(createdAt, now(), retentionDays)),
        ...(id.length <= maxCollapseIdBytes && { 'apns-collapse-id': id }),
        ...(uuidShape.test(id) && { 'apns-id': id }),
      };
      return async (deviceToken, signal) => {
        const problem = apnsTokenProblem(deviceToken);
        if (problem !== null) return invalidToken('APNs', problem);
        const post = (providerToken: string): Promise<Http2Response> => {
          const request = { headers: { ...headers, authorization: `bearer ${providerToken}` }, body };
          return client.post({ path: `/3/device/${deviceToken}`, ...request }, signal);
        };
        const providerToken = tokens.current();
        const response = await post(providerToken);
        if (reasonOf(response) !== 'ExpiredProviderToken') return outcomeOfResponse(response, now());
        tokens.discard(providerToken);
        return outcomeOfResponse(await post(tokens.current()), now());
      };
    },
    check: (signal) => client.open(signal),
    close: () => client.close(),
  };
}

function createProviderTokens(config: ApnsConfig, now: () => number) {
  const key = readPrivateKey(config.key, 'ec', 'TOCSIN_APNS_KEY');
  let current: { value: string; createdAt: number } | null = null;
  return {
    current(): string {
      if (current === null || now() - current.createdAt >= tokenLifetimeMs) {
        const claims = { iss: config.teamId, iat: Math.floor(now() / 1000) };
        current = { value: signJwt('ES256', key, claims, { kid: config.keyId }), createdAt: now() };
      }
      return current.value;
    },
    discard(token: string): void {
      if (current?.value === token) current = null;
    },
  };
}

/** Reasons that speak of the device token, not of the message. */
const goneReasons: ReadonlySet<string> = new Set(['BadDeviceToken', 'Unregistered', 'ExpiredToken']);

/** What an operator can do about it. */
const advice: Readonly<Record<string, string>> = {
  InvalidProviderToken: 'check TOCSIN_APNS_KEY, TOCSIN_APNS_KEY_ID and TOCSIN_APNS_TEAM_ID',
  BadEnvironmentKeyInToken: 'TOCSIN_APNS_KEY is for the other of the sandbox and the production endpoint',
  TopicDisallowed: 'check TOCSIN_APNS_TOPIC',
  BadTopic: 'check TOCSIN_APNS_TOPIC',
  // Not gone: with a wrong topic every token would seem to be.
  DeviceTokenNotForTopic: 'check TOCSIN_APNS_TOPIC',
  PayloadTooLarge: 'the message is too large',
};

/** https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns */
function outcomeOfResponse(response: Http2Response, now: number): Outcome {
  const { status, headers } = response;
  if (status === 200) return { kind: 'sent' };
  const reason = reasonOf(response);
  const detail = reason === null ? String(status) : `${status} ${reason}`;
  const later = (error: string): NotSent => retryLater(error, parseRetryAfter(headers['retry-after'], now));
  if (status === 410 || (status === 400 && reason !== null && goneReasons.has(reason))) {
    return { kind: 'gone', error: `APNs says that the device token is no longer valid (${detail})` };
  }
  if (reason === 'ExpiredProviderToken') {
    return later(`APNs finds our token expired (${detail}): check the clock of this machine`);
  }
  if (status === 429) return later(`APNs asks for fewer messages (${detail})`);
  if (status >= 400 && status < 500) {
    const whatToDo = reason !== null && Object.hasOwn(advice, reason) ? `: ${advice[reason]}` : '';
    return { kind: 'rejected', reason: 'refused', error: `APNs refuses the message (${detail})${whatToDo}` };
  }
  return later(`APNs cannot take the message now (${detail})`);
}

/** The reason in the response; null if it is not a single word. */
function reasonOf({ body }: Http2Response): string | null {
  try {
    const { reason } = JSON.parse(body) as { reason?: unknown };
    return typeof reason === 'string' && /^[A-Za-z]{1,40}$/.test(reason) ? reason : null;
  } catch {
    return null;
  }
}
