// Whether an owner has signed in with a browser before. The browser itself stores its owners in an encrypted cookie, so that
// nothing is stored here and every node can decide.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { dayMs } from '../../core/duration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { readCookie, setCookie } from './cookies.ts';
import { decryptFromBrowser, encryptForBrowser } from './encrypted-value.ts';

type Deps = Pick<ConsoleApiDeps, 'addresses' | 'cookieKey' | 'now'>;

const purpose = 'known browser';
/** The longest lifetime that browsers allow for a cookie. */
const lifetimeMs = 400 * dayMs;
const maxOwners = 20;

/** Returns whether the browser knew the owner, and adds the owner to its list. */
export function rememberOwner(
  { addresses, cookieKey, now }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  ownerId: string,
): boolean {
  const encrypted = readCookie(request, addresses, 'browser');
  const known = decryptFromBrowser<string[]>(cookieKey, purpose, encrypted, now()) ?? [];
  if (known.at(-1) === ownerId) return true;
  const owners = [...known.filter((id) => id !== ownerId), ownerId].slice(-maxOwners);
  const value = encryptForBrowser(cookieKey, purpose, owners, now() + lifetimeMs);
  setCookie(reply, addresses, 'browser', value, lifetimeMs);
  return known.includes(ownerId);
}
