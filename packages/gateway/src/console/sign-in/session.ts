// A session begins when somebody signs in, and is looked up with every request, so that one that is revoked is over at once.
import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digestOf } from '../../core/key-format.ts';
import { printable } from '../../core/printable.ts';
import { EncryptionKeyMissing, StoreUnavailable } from '../../usecases/ports/index.ts';
import type { Session, SignInMethod } from '../../usecases/ports/sign-in.ts';
import { newId } from '../../usecases/registration.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { rememberSignedIn, type SignedIn, signedIn } from '../signed-in.ts';
import { clearCookie, readCookie, setCookie } from './cookies.ts';
import { rememberOwner } from './known-browsers.ts';
import { sendSecurityNotice } from './security-notices.ts';

/** Of a session that is not used. */
const lifetimeMs = 30 * 24 * 60 * 60 * 1000;
/** Each look would otherwise be a write. */
const touchEveryMs = 5 * 60 * 1000;
const userAgentCharacters = 300;

type Parts = Pick<
  ConsoleApiParts,
  | 'store'
  | 'now'
  | 'makers'
  | 'addresses'
  | 'clientAddress'
  | 'sessionMaxMs'
  | 'cookieKey'
  | 'mailer'
  | 'onMailFailed'
  | 'onError'
>;

export async function beginSession(
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  { ownerId, method }: { ownerId: string; method: SignInMethod },
): Promise<void> {
  const { store, addresses } = parts;
  const now = parts.now();
  // Whoever signs in again has one session, not two.
  const before = readCookie(request, addresses, 'session');
  const known = before === undefined ? null : await store.sessions.find(digestOf(before), now);
  if (known !== null) await store.sessions.delete(known.ownerId, known.id);

  const firstLifetimeMs = Math.min(lifetimeMs, parts.sessionMaxMs);
  const userAgent = printable(request.headers['user-agent'] ?? '').slice(0, userAgentCharacters);
  const address = parts.clientAddress(request);
  const token = randomBytes(32).toString('base64url');
  await store.sessions.create({
    id: newId('ses', parts.makers),
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
  const isKnown = rememberOwner(parts, request, reply, ownerId);
  // A link that was mailed is news enough.
  const owner = isKnown || method === 'mail' ? null : await store.owners.find(ownerId);
  if (owner === null) return;
  const notice = { kind: 'new-browser', method, userAgent, address, at: now } as const;
  sendSecurityNotice(parts, { request, owner, notice }, reply);
}

/** Refuses whoever has no session, or one that is over. */
export async function recognize(parts: Parts, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const known = await findSignedIn(parts, request);
  if (known === null) throw new ConsoleRefusal('signed_out', 'You are not signed in, or no longer.');
  rememberSignedIn(request, known);
  await keepAlive(parts, known, request, reply);
}

export async function findSignedIn(
  { store, addresses, now, sessionMaxMs }: Parts,
  request: FastifyRequest,
): Promise<SignedIn | null> {
  const token = readCookie(request, addresses, 'session');
  if (token === undefined) return null;
  try {
    const found = await store.sessions.find(digestOf(token), now());
    // Also one that began while the setting allowed more.
    const session = found === null || found.createdAt + sessionMaxMs <= now() ? null : found;
    const owner = session === null ? null : await store.owners.find(session.ownerId);
    return session === null || owner === null ? null : { owner, session };
  } catch (error) {
    if (!(error instanceof EncryptionKeyMissing)) throw error;
    // This server may not have the newest master key yet: nobody is to be signed out for that.
    throw new ConsoleRefusal(
      'unavailable',
      "Your data cannot be opened. Whoever runs the service asks 'tocsin doctor'.",
    );
  }
}

async function keepAlive(
  parts: Parts,
  { session }: SignedIn,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { store, addresses, sessionMaxMs } = parts;
  const seenAt = parts.now();
  if (seenAt - session.seenAt < touchEveryMs) return;
  const expiresAt = Math.min(seenAt + lifetimeMs, session.createdAt + sessionMaxMs);
  try {
    await store.sessions.touch(session, { seenAt, expiresAt });
  } catch (error) {
    // A disk that is full keeps nobody from reading.
    if (error instanceof StoreUnavailable) return;
    throw error;
  }
  setCookie(reply, addresses, 'session', readCookie(request, addresses, 'session') ?? '', expiresAt - seenAt);
  // Also for sessions that began before browsers kept this.
  rememberOwner(parts, request, reply, session.ownerId);
}

export async function endSession(parts: Parts, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { session } = signedIn(request);
  await parts.store.sessions.delete(session.ownerId, session.id);
  clearCookie(reply, parts.addresses, 'session');
}

/** Whether the session is still there: for answers that go on for long. */
export async function isStillSignedIn(
  { store, now }: Pick<Parts, 'store' | 'now'>,
  session: Session,
): Promise<boolean> {
  return (await store.sessions.find(session.tokenDigest, now())) !== null;
}
