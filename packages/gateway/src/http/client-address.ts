import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isInNetworks, type parseNetwork } from '../core/address-policy.ts';

export type Networks = NonNullable<ReturnType<typeof parseNetwork>>[];

/**
 * Address of the caller: the peer or, if the peer is a trusted proxy, the last address in X-Forwarded-For that is not one.
 * Addresses further left come from the client and cannot be trusted.
 */
export function clientAddress(request: IncomingMessage, trustedProxies: Networks): string {
  const peer = request.socket.remoteAddress ?? '';
  const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',');
  let address = peer;
  while (forwarded.length > 0 && isTrusted(address, trustedProxies)) {
    const previous = (forwarded.pop() as string).trim();
    if (!ipaddr.isValid(previous)) break;
    address = previous;
  }
  return address;
}

export function isTrusted(address: string, trustedProxies: Networks): boolean {
  return trustedProxies.length > 0 && ipaddr.isValid(address) && isInNetworks(ipaddr.process(address), trustedProxies);
}
