// What a push token must look like, by provider. It is asked when a target is added, and again whenever one is used.
import { ECDH } from 'node:crypto';
import type { PushTarget } from '../../core/recipients.ts';
import type { SubscriptionKeys } from './web-push-encryption.ts';

export interface Subscription extends SubscriptionKeys {
  endpoint: URL;
}

/**
 * The push services of the browsers: a name, or `*.` and what the name must end in. A subscription comes from a page,
 * so this list is what keeps it from sending us anywhere else.
 */
export const knownPushHosts: readonly string[] = [
  'fcm.googleapis.com',
  '*.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
];

const maxEndpointLength = 2048;
/**
 * What is wrong with the token, for people and without the token; null when it can be used. `morePushHosts` are as in
 * `knownPushHosts`, each with a port where it is not 443.
 */
export function tokenProblem(
  provider: PushTarget['provider'],
  token: string,
  morePushHosts: readonly string[],
): string | null {
  if (provider === 'fcm') return fcmTokenProblem(token);
  if (provider === 'apns') return apnsTokenProblem(token);
  const subscription = parseSubscription(token, morePushHosts);
  return 'problem' in subscription ? subscription.problem : null;
}

export function fcmTokenProblem(token: string): string | null {
  return /^[A-Za-z0-9_:-]{32,4096}$/.test(token)
    ? null
    : 'it must have 32 to 4096 letters, digits, colons, hyphens and underscores.';
}

export function apnsTokenProblem(token: string): string | null {
  return /^([0-9a-f]{2}){32,100}$/i.test(token) ? null : 'it must have 64 to 200 hexadecimal digits.';
}

/** Reads the JSON of a browser's PushSubscription. */
export function parseSubscription(text: string, morePushHosts: readonly string[]): Subscription | { problem: string } {
  const { endpoint, keys } = parseObject(text);
  const { p256dh, auth } = (typeof keys === 'object' && keys !== null ? keys : {}) as Record<string, unknown>;
  if (typeof endpoint !== 'string' || typeof p256dh !== 'string' || typeof auth !== 'string') {
    return { problem: 'it must be the JSON of a PushSubscription: { endpoint, keys: { p256dh, auth } }.' };
  }
  const url = endpoint.length <= maxEndpointLength ? URL.parse(endpoint) : null;
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.hash !== '') {
    return { problem: 'its endpoint must be an https address without a user name.' };
  }
  if (!isPushHost(url, [...knownPushHosts, ...morePushHosts])) {
    return { problem: 'its endpoint is at none of the known push services; TOCSIN_WEBPUSH_HOSTS can name more.' };
  }
  const publicKey = decodeBase64Url(p256dh);
  if (publicKey === null || !isPointOnP256(publicKey)) return { problem: 'its p256dh must be a point on P-256.' };
  const secret = decodeBase64Url(auth);
  if (secret?.length !== 16) return { problem: 'its auth must be 16 bytes in base64url.' };
  return { endpoint: url, p256dh: publicKey, auth: secret };
}

/** `*.example.com` stands for the names under example.com, not for itself, and the dot is part of it. */
function isPushHost({ hostname, port }: URL, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const [name = '', wantedPort = '443'] = pattern.split(':');
    if ((port || '443') !== wantedPort) return false;
    return name.startsWith('*.')
      ? hostname.endsWith(name.slice(1)) && hostname.length >= name.length
      : hostname === name;
  });
}

function isPointOnP256(point: Buffer): boolean {
  if (point.length !== 65 || point[0] !== 4) return false;
  try {
    return ECDH.convertKey(point, 'prime256v1') !== undefined;
  } catch {
    return false;
  }
}

function decodeBase64Url(text: string): Buffer | null {
  return /^[A-Za-z0-9_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64url') : null;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
