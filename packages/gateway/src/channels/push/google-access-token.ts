// OAuth 2.0 for a service account of Google: a signed assertion (RFC 7523) for an access token.

import { createDeadline } from '../../core/deadline.ts';
import { orAbort } from './abort.ts';
import type { FcmConfig } from './config.ts';
import type { Http2Client, Http2Response } from './http2-client.ts';
import { readPrivateKey, signJwt } from './jwt.ts';
import { Failure, retryLater } from './provider.ts';
import { parseRetryAfter } from './retry-after.ts';

export interface AccessTokens {
  /** The current token, or a new one; concurrent callers wait for the same request. */
  obtain(signal: AbortSignal): Promise<string>;
  /** The provider no longer takes this one. */
  discard(token: string): void;
}

interface AccessToken {
  value: string;
  expiresAt: number;
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging';
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const assertionSeconds = 3600;
const renewBeforeMs = 5 * 60 * 1000;

export function createAccessTokens(
  account: Pick<FcmConfig, 'clientEmail' | 'privateKey' | 'tokenUrl'>,
  { client, timeoutMs, now }: { client: Http2Client; timeoutMs: number; now(): number },
): AccessTokens {
  const key = readPrivateKey(account.privateKey, 'rsa', 'TOCSIN_FCM_CREDENTIALS');
  const { pathname, search } = new URL(account.tokenUrl);
  let current: AccessToken | null = null;
  let pending: Promise<AccessToken> | null = null;

  async function request(): Promise<AccessToken> {
    const iat = Math.floor(now() / 1000);
    const claims = { iss: account.clientEmail, scope, aud: account.tokenUrl, iat, exp: iat + assertionSeconds };
    const body = new URLSearchParams({ grant_type: grantType, assertion: signJwt('RS256', key, claims) }).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
    // A deadline of its own, not that of the first caller: others wait for the token, too.
    using deadline = createDeadline(timeoutMs);
    const response = await client.post({ path: pathname + search, headers, body }, deadline.signal).catch((error) => {
      if (!deadline.signal.aborted) throw error;
      const late = `Google's token service did not respond in time`;
      throw new Failure({ kind: 'retry', reason: 'unreachable', error: late });
    });
    return readToken(response, now());
  }

  function renew(): Promise<AccessToken> {
    pending ??= request()
      .then((token) => {
        current = token;
        return token;
      })
      .finally(() => {
        pending = null;
      });
    return pending;
  }

  return {
    async obtain(signal) {
      if (current !== null && current.expiresAt - renewBeforeMs > now()) return current.value;
      const old = current;
      const { value } = await orAbort(renew(), signal).catch((error) => {
        // The old one is good for some minutes yet, and by then the token service may be back.
        if (old !== null && old === current && old.expiresAt > now() && !signal.aborted) return old;
        throw error;
      });
      return value;
    },
    discard(token) {
      if (current?.value === token) current = null;
    },
  };
}

function readToken({ status, headers, body }: Http2Response, now: number): AccessToken {
  if (status === 200) {
    const token = parse(body);
    if (token !== null) return { value: token.value, expiresAt: now + token.seconds * 1000 };
    throw new Failure({ kind: 'retry', reason: 'deferred', error: "Google's token service gave no access token" });
  }
  const isRefusal = status >= 400 && status < 500 && status !== 429;
  const error = isRefusal
    ? `Google refuses the service account (${status}): check TOCSIN_FCM_CREDENTIALS and the clock of this machine`
    : `Google's token service cannot answer now (${status})`;
  throw new Failure(retryLater(error, parseRetryAfter(headers['retry-after'], now)));
}

function parse(body: string): { value: string; seconds: number } | null {
  try {
    const { access_token: value, expires_in: seconds } = JSON.parse(body) as Record<string, unknown>;
    // It goes into a header.
    if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) return null;
    return { value, seconds: typeof seconds === 'number' && seconds > 0 ? seconds : assertionSeconds };
  } catch {
    return null;
  }
}
