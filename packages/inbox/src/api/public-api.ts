// A client of the public API that works like any other caller: another origin, a key, no cookies.
import type { ErrorResponse, NotificationRequest, SuccessResponse } from '@tocsin/contract/types';

export interface PublicResponse {
  status: number;
  /** null if the body is not JSON, so probably not from Tocsin. */
  body: SuccessResponse | ErrorResponse | null;
}

/** The API could not be reached, or this page cannot sign the request. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
  readonly reason: 'unreachable' | 'cannot_sign';

  constructor(reason: NotSent['reason']) {
    super(reason);
    this.reason = reason;
  }
}

export async function notify(
  { apiUrl, key, isSigned }: { apiUrl: string; key: string; isSigned: boolean },
  notification: NotificationRequest,
): Promise<PublicResponse> {
  const body = JSON.stringify(notification);
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    ...(isSigned && (await signatureHeaders(key, body))),
  };
  let response: Response;
  try {
    response = await fetch(apiUrl, { method: 'POST', headers, body, credentials: 'omit' });
  } catch {
    throw new NotSent('unreachable');
  }
  const received: unknown = await response.json().catch(() => null);
  return { status: response.status, body: received as PublicResponse['body'] };
}

async function signatureHeaders(key: string, body: string): Promise<Record<string, string>> {
  // Missing on pages loaded over plain HTTP, except from localhost.
  if (crypto.subtle === undefined) throw new NotSent('cannot_sign');
  const timestamp = String(Date.now());
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const secret = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);
  const bytes = await crypto.subtle.sign('HMAC', secret, encoder.encode(timestamp + body));
  const signature = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { 'X-Timestamp': timestamp, 'X-Signature': signature };
}
