// Requests that change something must come from the console's own pages. The cookie is SameSite=Lax, which other hosts of
// the same site bypass; this check does not depend on it.
import type { FastifyRequest } from 'fastify';
import type { Addresses } from './addresses.ts';
import { ConsoleRefusal } from './refusal.ts';

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

export function checkOrigin(request: FastifyRequest, addresses: Addresses): void {
  if (safeMethods.has(request.method) || isOwnPage(request, addresses)) return;
  throw new ConsoleRefusal(
    'cross_site',
    'This request did not come from a page of this console. If it did, set TOCSIN_CONSOLE_URL to the address in the ' +
      'address bar of the browser.',
  );
}

function isOwnPage(request: FastifyRequest, addresses: Addresses): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return request.headers['sec-fetch-site'] === 'same-origin';
  return isOwnOrigin(origin, {
    host,
    consoleUrl: addresses.consoleUrl(request),
    isSecure: addresses.isSecure(request),
  });
}

export interface OriginTarget {
  /** The Host header of the request. */
  host: string | undefined;
  /** The configured address of the console; null: not configured. */
  consoleUrl: string | null;
  isSecure: boolean;
}

/** Whether a page with this Origin belongs to the console that received the request. */
export function isOwnOrigin(origin: string, { host, consoleUrl, isSecure }: OriginTarget): boolean {
  if (origin === consoleUrl) return true;
  const page = URL.parse(origin);
  if (page === null || page.host !== host) return false;
  // A proxy may terminate TLS without the console knowing. Where TLS is known, a page loaded over plain HTTP may have been
  // modified on the way and is refused.
  return page.protocol === 'https:' || !isSecure;
}
