// The cookies of the console. Over TLS their names begin with __Host-, so that no other host can set them
// (RFC 6265bis, section 4.1.3.2); over plain HTTP browsers do not allow that.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Addresses } from '../addresses.ts';

const names = { session: 'tocsin', passkey: 'tocsin-passkey', oidc: 'tocsin-oidc', browser: 'tocsin-browser' } as const;

export type CookieName = keyof typeof names;

export function readCookie(request: FastifyRequest, addresses: Addresses, name: CookieName): string | undefined {
  return request.cookies[fullName(name, addresses.isSecure(request))];
}

export function setCookie(
  reply: FastifyReply,
  addresses: Addresses,
  name: CookieName,
  value: string,
  lifetimeMs: number,
): void {
  const secure = addresses.isSecure(reply.request);
  reply.setCookie(fullName(name, secure), value, {
    httpOnly: true,
    // Lax and not Strict: the cookie must be sent when a link in an email or an OpenID provider leads here.
    sameSite: 'lax',
    path: '/',
    secure,
    maxAge: Math.floor(lifetimeMs / 1000),
  });
}

export function clearCookie(reply: FastifyReply, addresses: Addresses, name: CookieName): void {
  const secure = addresses.isSecure(reply.request);
  reply.clearCookie(fullName(name, secure), { httpOnly: true, sameSite: 'lax', path: '/', secure });
}

function fullName(name: CookieName, isSecure: boolean): string {
  return isSecure ? `__Host-${names[name]}` : names[name];
}
