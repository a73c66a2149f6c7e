// A host that a caller wrote → the addresses that may be dialled for it.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AddressPolicy, isAddressAllowed } from '../core/address-policy.ts';
import { EgressFailed, EgressRefused } from './errors.ts';

export interface Address {
  address: string;
  family: 4 | 6;
}

/** Every address of a name. */
export type Resolve = (name: string) => Promise<readonly { address: string }[]>;

export interface Host {
  /** In the notation of the URL standard, without brackets and final dot. */
  name: string;
  isLiteral: boolean;
}

/** Only a bare host: a slash, an @ or a port in it would move the address elsewhere. */
export function parseHost(text: string): Host {
  const bracketed = isIP(text) === 6 ? `[${text}]` : text;
  if (!/^(\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@:[\]%]+)$/.test(bracketed)) throw new EgressRefused();
  const url = URL.parse(`https://${bracketed}/`);
  if (url === null) throw new EgressRefused();
  const name = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (name === '') throw new EgressRefused();
  return { name, isLiteral: isIP(name) !== 0 };
}

/** One address that may not be dialled refuses them all: else a second answer could undo the check of the first. */
export async function findAddresses(host: Host, policy: AddressPolicy, resolve: Resolve): Promise<Address[]> {
  const found = host.isLiteral ? [{ address: host.name }] : await ask(resolve, host.name);
  if (found.length === 0) throw new EgressFailed();
  return found.map(({ address }) => checkAddress(address, policy));
}

async function ask(resolve: Resolve, name: string): Promise<readonly { address: string }[]> {
  try {
    return await resolve(name);
  } catch {
    throw new EgressFailed();
  }
}

function checkAddress(text: string, policy: AddressPolicy): Address {
  // A zone (fe80::1%eth0) names an interface of this machine.
  if (isIP(text) === 0 || text.includes('%') || !isAddressAllowed(text, policy)) throw new EgressRefused();
  const address = ipaddr.process(text);
  return { address: address.toString(), family: address.kind() === 'ipv4' ? 4 : 6 };
}

/** Lookups of the system that may run at once. */
const maxLookups = 2;
/** Names that may wait for their turn; whoever asked for them gives up before more would come to it. */
const maxWaiting = 100;

/**
 * Asks the system. getaddrinfo blocks one of the four threads of Node's pool for as long as a name server likes, and
 * callers choose the names: so there are always threads left for everybody else.
 */
export function createSystemResolver(): Resolve {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (name) => {
    if (waiting.length >= maxWaiting) throw new EgressFailed();
    if (running >= maxLookups) await new Promise<void>((proceed) => waiting.push(proceed));
    else running++;
    try {
      return await lookup(name, { all: true });
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
