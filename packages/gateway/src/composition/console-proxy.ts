import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/server.ts';
import { isTrusted } from '../http/client-address.ts';

/** Returns a check whether a request of the console came from a proxy whose headers are trusted. */
export function isTrustedProxy({ trustedProxies }: Config): (message: IncomingMessage) => boolean {
  return ({ socket }) => isTrusted(socket.remoteAddress ?? '', trustedProxies);
}
