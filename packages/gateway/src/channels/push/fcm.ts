// Firebase Cloud Messaging, HTTP v1.

import type { NotSent, Outcome } from '../../core/outcome.ts';
import type { FcmConfig } from './config.ts';
import { fcmMessage, timeToLiveSeconds } from './format.ts';
import { createAccessTokens } from './google-access-token.ts';
import { createHttp2Client, type Http2Client, type Http2Response } from './http2-client.ts';
import { invalidToken, type PushProvider, retryLater } from './provider.ts';
import { parseRetryAfter } from './retry-after.ts';
import { fcmTokenProblem } from './token.ts';

export interface FcmParts {
  timeoutMs: number;
  retentionDays: number;
  now(): number;
  ca?: string | undefined;
}

export function createFcm(config: FcmConfig, { timeoutMs, retentionDays, now, ca }: FcmParts): PushProvider {
  const connectTo = (name: string, url: string): Http2Client =>
    createHttp2Client({ name, origin: new URL(url).origin, connectTimeoutMs: timeoutMs, ca });
  const fcm = connectTo('FCM', config.endpoint);
  const tokenService = connectTo("Google's token service", config.tokenUrl);
  const accessTokens = createAccessTokens(config, { client: tokenService, timeoutMs, now });
  const path = `${new URL(config.endpoint).pathname.replace(/\/$/, '')}/v1/projects/${encodeURIComponent(config.projectId)}/messages:send`;

  async function post(body: string, accessToken: string, signal: AbortSignal): Promise<Http2Response> {
    const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' };
    return fcm.post({ path, headers, body }, signal);
  }

  return {
    name: 'FCM',
    prepare(notification) {
      const timeToLive = timeToLiveSeconds(notification.createdAt, now(), retentionDays);
      const message = fcmMessage(notification, now(), timeToLive);
      return async (token, signal) => {
        const problem = fcmTokenProblem(token);
        if (problem !== null) return invalidToken('FCM', problem);
        const body = JSON.stringify({ message: { token, ...message } });
        const accessToken = await accessTokens.obtain(signal);
        const response = await post(body, accessToken, signal);
        if (!isAccessTokenRefused(response)) return outcomeOfResponse(response, now());
        accessTokens.discard(accessToken);
        return outcomeOfResponse(await post(body, await accessTokens.obtain(signal), signal), now());
      };
    },
    async check(signal) {
      await accessTokens.obtain(signal);
      await fcm.open(signal);
    },
    async close() {
      await Promise.all([fcm.close(), tokenService.close()]);
    },
  };
}

/** FCM says 401 also where its own credentials for APNs or Web Push are wrong; a new access token mends nothing there. */
function isAccessTokenRefused({ status, body }: Http2Response): boolean {
  return status === 401 && readError(body).errorCode !== 'THIRD_PARTY_AUTH_ERROR';
}

/** https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
function outcomeOfResponse({ status, headers, body }: Http2Response, now: number): Outcome {
  if (status === 200) return { kind: 'sent' };
  const { errorCode, state } = readError(body);
  const rejected = (error: string): NotSent => ({ kind: 'rejected', reason: 'refused', error });
  const later = (error: string): NotSent => retryLater(error, parseRetryAfter(headers['retry-after'], now));
  if (errorCode === 'UNREGISTERED' || (status === 404 && state === 'NOT_FOUND')) {
    return { kind: 'gone', error: 'FCM says that the app is no longer registered (UNREGISTERED)' };
  }
  if (errorCode === 'THIRD_PARTY_AUTH_ERROR') {
    return rejected(
      'FCM cannot pass the message on: the APNs key or Web Push key in the Firebase project is not valid',
    );
  }
  if (errorCode === 'SENDER_ID_MISMATCH') return rejected('FCM says that the token belongs to another project');
  if (status === 401) return later('FCM does not accept the access token (401): check TOCSIN_FCM_CREDENTIALS');
  if (status === 403) return rejected('FCM does not let the service account send for this project (403)');
  if (status === 400) return rejected('FCM finds the message or the token invalid (INVALID_ARGUMENT)');
  if (status === 429) return later('FCM asks for fewer messages (429)');
  // A 404 that is not FCM's own comes from a wrong endpoint, and says nothing about the device.
  if (status >= 400 && status < 500 && status !== 404) return rejected(`FCM refuses the message (${status})`);
  return later(`FCM cannot take the message now (${status})`);
}

/** Reads only two documented codes from the response. */
function readError(body: string): { errorCode: string | undefined; state: string | undefined } {
  try {
    const { error } = JSON.parse(body) as { error: { status?: unknown; details?: unknown } };
    const details = (Array.isArray(error.details) ? error.details : []) as { errorCode?: unknown }[];
    const codes = details.map((detail) => detail?.errorCode).filter((code) => typeof code === 'string');
    return { errorCode: codes[0], state: typeof error.status === 'string' ? error.status : undefined };
  } catch {
    return { errorCode: undefined, state: undefined };
  }
}
