// Whether an owner has signed in with a browser before. The browser itself keeps whom it knows, sealed, so that nothing is
// stored here and any node can tell.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleApiParts } from '../deps.ts';
import { readCookie, setCookie } from './cookies.ts';
import { openFromBrowser, sealForBrowser } from './sealed-value.ts';

type Parts = Pick<ConsoleApiParts, 'addresses' | 'cookieKey' | 'now'>;

const purpose = 'known browser';
/** Browsers keep no cookie for longer. */
const lifetimeMs = 400 * 24 * 60 * 60 * 1000;
const mostOwners = 20;

/** Says whether the browser knew the owner; it does from now on. */
export function rememberOwner(
  { addresses, cookieKey, now }: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
  ownerId: string,
): boolean {
  const sealed = readCookie(request, addresses, 'browser');
  const known = openFromBrowser<string[]>(cookieKey, purpose, sealed, now()) ?? [];
  if (known.at(-1) === ownerId) return true;
  const owners = [...known.filter((id) => id !== ownerId), ownerId].slice(-mostOwners);
  const value = sealForBrowser(cookieKey, purpose, owners, now() + lifetimeMs);
  setCookie(reply, addresses, 'browser', value, lifetimeMs);
  return known.includes(ownerId);
}
