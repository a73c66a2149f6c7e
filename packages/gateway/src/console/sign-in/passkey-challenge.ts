// The challenges that passkeys sign. The browser keeps the challenge in an encrypted cookie, so that every node can verify
// the signature.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal } from '../refusal.ts';
import { clearCookie, readCookie, setCookie } from './cookies.ts';
import { decryptFromBrowser, encryptForBrowser } from './encrypted-value.ts';

type Deps = Pick<ConsoleApiDeps, 'addresses' | 'cookieKey' | 'now'>;

interface Challenge {
  challenge: string;
  expiresAt: number;
}

const lifetimeMs = 5 * 60 * 1000;

/** The relying party that passkeys are bound to. */
export function relyingParty(
  { addresses }: Pick<Deps, 'addresses'>,
  request: FastifyRequest,
): { rpId: string; origin: string } {
  if (!addresses.hasPasskeys(request))
    throw new ConsoleRefusal('passkey_refused', 'Passkeys need https and a host name, or http://localhost.');
  const origin = addresses.consoleUrl(request);
  return { origin, rpId: new URL(origin).hostname };
}

/** `purpose` says what the signature is for and, if known, which owner must give it. */
export function rememberChallenge(deps: Deps, reply: FastifyReply, purpose: string, challenge: string): void {
  const expiresAt = deps.now() + lifetimeMs;
  const value: Challenge = { challenge, expiresAt };
  const encrypted = encryptForBrowser(deps.cookieKey, `passkey ${purpose}`, value, expiresAt);
  setCookie(reply, deps.addresses, 'passkey', encrypted, lifetimeMs);
}

export function challengeOf(deps: Deps, request: FastifyRequest, purpose: string): Challenge {
  const encrypted = readCookie(request, deps.addresses, 'passkey');
  const known = decryptFromBrowser<Challenge>(deps.cookieKey, `passkey ${purpose}`, encrypted, deps.now());
  if (known === null) throw new ConsoleRefusal('passkey_refused', 'The request has expired. Try again.');
  return known;
}

export function forgetChallenge({ addresses }: Deps, reply: FastifyReply): void {
  clearCookie(reply, addresses, 'passkey');
}

/** The reason is not reported, because it would help an attacker. */
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
