// Finds the key of a request and its owner, and checks whether the key may be used here.
import type { IncomingHttpHeaders } from 'node:http';
import { isSignatureValid, keyPrefix, maySendNotifications, signatureWindowMs } from '@tocsin/contract';
import { digestOf, hasWrongChecksum } from '../core/key-format.ts';
import { isOriginAllowed } from '../core/origin-policy.ts';
import { authenticationUnavailable, Refusal } from '../core/refusal.ts';
import type { Directory } from '../usecases/directory.ts';
import { type ApiKey, type SignatureRepository, StoreUnavailable } from '../usecases/ports/index.ts';
import type { Limits } from './rate-limits.ts';

export interface Authenticator {
  directory: Directory;
  signatures: SignatureRepository;
  limits: Limits;
  /** The wall clock, for expiry and signatures. */
  now: () => number;
}

export interface Credentials {
  headers: IncomingHttpHeaders;
  /** At the address of a dialect, whose senders may put the key into the query. */
  query?: URLSearchParams;
  /** Called only if authentication fails or the store has to be queried. */
  rateLimitKey: () => string;
}

export interface Identified {
  key: ApiKey;
  /** The key as the caller sent it. */
  value: string;
}

/** Uses only the headers, so that the body of a request without a valid key need not be buffered. */
export function identify(parts: Authenticator, credentials: Credentials): Promise<Identified> {
  return countingFailures(parts, credentials, async () => {
    const value = suppliedKey(credentials);
    const digest = digestOf(value);
    const key = parts.directory.recallKey(digest) ?? (await findKey(parts, value, digest, credentials));
    checkKey(key, parts.now());
    checkOrigin(key, credentials.headers);
    return { key, value };
  });
}

/** Checks the signature, which covers the body. */
export async function checkSigned(
  parts: Authenticator,
  credentials: Credentials,
  identified: Identified,
  rawBody: Buffer,
): Promise<void> {
  if (!identified.key.requireSignature && !isSigned(credentials.headers)) return;
  await countingFailures(parts, credentials, () => checkSignature(parts, identified, credentials.headers, rawBody));
}

async function countingFailures<T>(
  { limits }: Authenticator,
  { rateLimitKey }: Credentials,
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    const isFailure = error instanceof Refusal && error.code !== 'authentication_unavailable';
    if (isFailure && error.code !== 'rate_limited') await limits.countFailure(rateLimitKey());
    throw error;
  }
}

/** Node joins repeated headers with a comma, which no key contains. */
function suppliedKey({ headers, query }: Credentials): string {
  const found = new Set<string>();
  for (const value of split(headers.authorization)) addAuthorization(found, value);
  for (const name of ['x-api-key', 'x-service-key']) for (const value of split(headers[name])) found.add(value);
  for (const name of ['x-gotify-key', 'x-gitlab-token']) {
    for (const value of split(headers[name])) if (isKey(value)) found.add(value);
  }
  if (query !== undefined) addQuery(found, query);
  const [key] = found;
  if (key === undefined) {
    const problem = `send one key, as 'Authorization: Bearer <API_KEY>', or in X-API-Key or X-SERVICE-Key`;
    throw new Refusal('authorization_required', { details: [{ field: 'Authorization', problem }] });
  }
  if (found.size > 1) {
    const details = [{ field: 'Authorization', problem: 'two different keys were supplied; send one' }];
    throw new Refusal('authorization_required', { details });
  }
  return key;
}

/** Other schemes than Bearer may be meant for a proxy, so only what looks like a key is taken from them. */
function addAuthorization(found: Set<string>, value: string): void {
  const [, scheme = '', credentials = ''] = /^(\S+) +(\S+)$/.exec(value) ?? [];
  switch (scheme.toLowerCase()) {
    case 'bearer':
      found.add(credentials);
      return;
    case 'basic':
      for (const half of halvesOf(Buffer.from(credentials, 'base64').toString())) if (isKey(half)) found.add(half);
      return;
    case 'token':
    case 'key':
    case 'geniekey':
      if (isKey(credentials)) found.add(credentials);
  }
}

/** Name and password: some clients can only be given one of them. */
function halvesOf(text: string): string[] {
  const colon = text.indexOf(':');
  return colon < 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
}

/** `token` is of Gotify. `auth` is of ntfy: the value of an Authorization header in base64. */
function addQuery(found: Set<string>, query: URLSearchParams): void {
  for (const value of [...query.getAll('token'), ...query.getAll('auth')]) {
    if (isKey(value)) found.add(value);
  }
  for (const value of query.getAll('auth')) addAuthorization(found, Buffer.from(value, 'base64').toString());
}

function isKey(value: string): boolean {
  return value.startsWith(keyPrefix);
}

function split(header: string | string[] | undefined): string[] {
  if (header === undefined) return [];
  return String(header)
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

/**
 * For an address with too many failures the store is not queried, but recently accepted keys keep working: one broken
 * client behind a shared address must not block the others.
 */
async function findKey(
  { directory, limits }: Authenticator,
  value: string,
  digest: string,
  credentials: Credentials,
): Promise<ApiKey> {
  if (!limits.wasAcceptedLately(digest)) await limits.checkFailures(credentials.rateLimitKey());
  const isTypo = hasWrongChecksum(value) && !(await directory.hasIrregularKeys());
  const key = isTypo ? null : await directory.findKey(digest);
  if (key === null) throw new Refusal('invalid_api_key');
  limits.noteAccepted(digest);
  return key;
}

function checkKey(key: ApiKey, now: number): void {
  const isExpired = key.expiresAt !== null && key.expiresAt <= now;
  if (key.revokedAt !== null || isExpired) throw new Refusal('invalid_api_key');
  if (!maySendNotifications(key.type)) throw new Refusal('key_type_not_allowed', { suffix: key.type });
}

function checkOrigin(key: ApiKey, { origin, referer }: IncomingHttpHeaders): void {
  if (!isOriginAllowed({ origin, referer }, key.allowedDomains)) throw new Refusal('origin_not_allowed');
}

function isSigned(headers: IncomingHttpHeaders): boolean {
  return headers['x-signature'] !== undefined || headers['x-timestamp'] !== undefined;
}

async function checkSignature(
  { signatures, now }: Authenticator,
  { key, value: apiKey }: Identified,
  headers: IncomingHttpHeaders,
  rawBody: Buffer,
): Promise<void> {
  const timestamp = headers['x-timestamp'];
  const signature = headers['x-signature'];
  if (typeof timestamp !== 'string' || typeof signature !== 'string') {
    throw badSignature('X-Timestamp and X-Signature are both required');
  }
  if (!isSignatureValid({ apiKey, timestamp, rawBody, signature }, now())) {
    throw badSignature('does not match, or X-Timestamp is not the time in milliseconds within five minutes');
  }
  const expiresAt = Number(timestamp) + 2 * signatureWindowMs;
  if (!(await claim(signatures, key.ownerId, signature, expiresAt))) throw badSignature('was used before');
}

function badSignature(problem: string): Refusal {
  return new Refusal('invalid_signature', { details: [{ field: 'X-Signature', problem }] });
}

/** While the store is down it is unknown whether the signature was used before, so the request is refused. */
async function claim(
  signatures: SignatureRepository,
  ownerId: string,
  signature: string,
  expiresAt: number,
): Promise<boolean> {
  try {
    return await signatures.claim(ownerId, signature, expiresAt);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw authenticationUnavailable();
    throw error;
  }
}
