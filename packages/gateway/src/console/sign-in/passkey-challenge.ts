// What passkeys are asked to sign. The browser keeps the challenge, sealed, so that any node can check the answer.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { clearCookie, readCookie, setCookie } from './cookies.ts';
import { openFromBrowser, sealForBrowser } from './sealed-value.ts';

type Parts = Pick<ConsoleApiParts, 'addresses' | 'cookieKey' | 'now'>;

interface Challenge {
  challenge: string;
  expiresAt: number;
}

const lifetimeMs = 5 * 60 * 1000;

/** What passkeys are bound to. */
export function siteOf(
  { addresses }: Pick<Parts, 'addresses'>,
  request: FastifyRequest,
): { rpId: string; origin: string } {
  if (!addresses.hasPasskeys(request))
    throw new ConsoleRefusal('passkey_refused', 'Passkeys need https and a host name, or http://localhost.');
  const origin = addresses.consoleUrl(request);
  return { origin, rpId: new URL(origin).hostname };
}

/** `purpose` says what the answer is for, and of whom it has to come where that is known. */
export function rememberChallenge(parts: Parts, reply: FastifyReply, purpose: string, challenge: string): void {
  const expiresAt = parts.now() + lifetimeMs;
  const value: Challenge = { challenge, expiresAt };
  const sealed = sealForBrowser(parts.cookieKey, `passkey ${purpose}`, value, expiresAt);
  setCookie(reply, parts.addresses, 'passkey', sealed, lifetimeMs);
}

export function challengeOf(parts: Parts, request: FastifyRequest, purpose: string): Challenge {
  const sealed = readCookie(request, parts.addresses, 'passkey');
  const known = openFromBrowser<Challenge>(parts.cookieKey, `passkey ${purpose}`, sealed, parts.now());
  if (known === null)
    throw new ConsoleRefusal('passkey_refused', 'That took too long, or was tried before. Try again.');
  return known;
}

export function forgetChallenge({ addresses }: Parts, reply: FastifyReply): void {
  clearCookie(reply, addresses, 'passkey');
}

/** Why is not told: it would help only somebody who tries things. */
export function passkeyRefused(): never {
  throw new ConsoleRefusal('passkey_refused', 'This passkey was not accepted.');
}

export function notVerified(): ConsoleRefusal {
  return new ConsoleRefusal(
    'passkey_refused',
    'Operators need a passkey that verifies them with a PIN, a fingerprint or a face. Set a PIN on the security key, or ' +
      "sign in another way ('tocsin owner sign-in' on the server prints a link) and add a passkey on another device.",
  );
}
