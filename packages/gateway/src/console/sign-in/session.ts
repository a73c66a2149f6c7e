// Sessions. A session is looked up with every request, so that revoking it takes effect immediately.

import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { dayMs } from '../../core/duration.ts';
import { digestOf } from '../../core/key-format.ts';
import { printable } from '../../core/printable.ts';
import { EncryptionKeyMissing, StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Session, SignInMethod } from '../../usecases/ports/sign-in.ts';
import { newId } from '../../usecases/registration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal, signedOut } from '../refusal.ts';
import { rememberSignedIn, type SignedIn, signedIn } from '../signed-in.ts';
import { clearCookie, readCookie, setCookie } from './cookies.ts';
import { rememberOwner } from './known-browsers.ts';
import { sendSecurityNotice } from './security-notices.ts';

/** How long a session lasts without being used. */
const lifetimeMs = 30 * dayMs;
/** Limits writes: without it, every request would write the session. */
const touchEveryMs = 5 * 60 * 1000;
const userAgentCharacters = 300;

type Deps = Pick<
  ConsoleApiDeps,
  | 'store'
  | 'now'
  | 'environment'
  | 'addresses'
  | 'clientAddress'
  | 'sessionMaxMs'
  | 'cookieKey'
  | 'mailer'
  | 'onEmailFailed'
  | 'onError'
>;

export async function beginSession(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { ownerId, method }: { ownerId: string; method: SignInMethod },
): Promise<void> {
  const { store, addresses } = deps;
  const now = deps.now();
  // Signing in again replaces the session of this browser.
  const before = readCookie(request, addresses, 'session');
  const known = before === undefined ? null : await store.sessions.find(digestOf(before), now);
  if (known !== null) await store.sessions.delete(known.ownerId, known.id);

  const firstLifetimeMs = Math.min(lifetimeMs, deps.sessionMaxMs);
  const userAgent = printable(request.headers['user-agent'] ?? '').slice(0, userAgentCharacters);
  const address = deps.clientAddress(request);
  const token = randomBytes(32).toString('base64url');
  await store.sessions.create({
    id: newId('ses', deps.environment),
    ownerId,
    tokenDigest: digestOf(token),
    method,
    userAgent,
    address,
    createdAt: now,
    seenAt: now,
    expiresAt: now + firstLifetimeMs,
  });
  setCookie(reply, addresses, 'session', token, firstLifetimeMs);
  const isKnown = rememberOwner(deps, request, reply, ownerId);
  // The owner of an emailed link has just received an email.
  const owner = isKnown || method === 'mail' ? null : await store.owners.find(ownerId);
  if (owner === null) return;
  const notice = { kind: 'new-browser', method, userAgent, address, at: now } as const;
  sendSecurityNotice(deps, { request, owner, notice }, reply);
}

/** Refuses requests without a valid session. */
export async function requireSession(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const known = await findSignedIn(deps, request);
  if (known === null) throw signedOut();
  rememberSignedIn(request, known);
  await keepAlive(deps, known, request, reply);
}

export async function findSignedIn(
  { store, addresses, now, sessionMaxMs }: Deps,
  request: FastifyRequest,
): Promise<SignedIn | null> {
  const token = readCookie(request, addresses, 'session');
  if (token === undefined) return null;
  try {
    const found = await store.sessions.find(digestOf(token), now());
    // The maximum also applies to sessions that began when the setting was higher.
    const session = found === null || found.createdAt + sessionMaxMs <= now() ? null : found;
    const owner = session === null ? null : await store.owners.find(session.ownerId);
    return session === null || owner === null ? null : { owner, session };
  } catch (error) {
    if (!(error instanceof EncryptionKeyMissing)) throw error;
    // During a key rotation this server may not have the newest master key yet, which must not end the session.
    throw new ConsoleRefusal('unavailable', "Your data can't be decrypted. Ask the operator to run 'tocsin doctor'.");
  }
}

async function keepAlive(
  deps: Deps,
  { session }: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { store, addresses, sessionMaxMs } = deps;
  const seenAt = deps.now();
  if (seenAt - session.seenAt < touchEveryMs) return;
  const expiresAt = Math.min(seenAt + lifetimeMs, session.createdAt + sessionMaxMs);
  try {
    await store.sessions.touch(session, { seenAt, expiresAt });
  } catch (error) {
    // A store that refuses writes, as with a full disk, does not prevent reading.
    if (error instanceof StoreUnavailable) return;
    throw error;
  }
  setCookie(reply, addresses, 'session', readCookie(request, addresses, 'session') ?? '', expiresAt - seenAt);
  // Also for sessions that began before this cookie existed.
  rememberOwner(deps, request, reply, session.ownerId);
}

export async function endSession(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { session } = signedIn(request);
  await deps.store.sessions.delete(session.ownerId, session.id);
  clearCookie(reply, deps.addresses, 'session');
}

/** Whether the session still exists; for streaming responses. */
export async function isStillSignedIn({ store, now }: Pick<Deps, 'store' | 'now'>, session: Session): Promise<boolean> {
  return (await store.sessions.find(session.tokenDigest, now())) !== null;
}
