// A host from a caller → the addresses to which a connection is allowed.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type AddressPolicy, isAddressAllowed } from '../core/address-policy.ts';
import { EgressFailed, EgressRefused } from './errors.ts';

export interface Address {
  address: string;
  family: 4 | 6;
}

/** Every address of a name. `owner` is on whose behalf it is asked, where owners choose the names. */
export type Resolve = (name: string, owner?: string) => Promise<readonly { address: string }[]>;

export interface Host {
  /** In the notation of the URL standard, without brackets and final dot. */
  name: string;
  isLiteral: boolean;
}

/** Accepts only a bare host: a slash, an @ or a port in it would change the address. */
export function parseHost(text: string): Host {
  const bracketed = isIP(text) === 6 ? `[${text}]` : text;
  if (!/^(\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@:[\]%]+)$/.test(bracketed)) throw new EgressRefused();
  const url = URL.parse(`https://${bracketed}/`);
  if (url === null) throw new EgressRefused();
  const name = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (name === '') throw new EgressRefused();
  return { name, isLiteral: isIP(name) !== 0 };
}

/** One forbidden address refuses all: otherwise a second DNS response could bypass the check of the first. */
export async function findAddresses(
  host: Host,
  policy: AddressPolicy,
  resolve: Resolve,
  owner?: string,
): Promise<Address[]> {
  const found = host.isLiteral ? [{ address: host.name }] : await ask(resolve, host.name, owner);
  if (found.length === 0) throw new EgressFailed();
  return found.map(({ address }) => checkAddress(address, policy));
}

async function ask(resolve: Resolve, name: string, owner?: string): Promise<readonly { address: string }[]> {
  try {
    return await resolve(name, owner);
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
/** Maximum number of queued lookups: twice the number of concurrent connections. */
const maxWaiting = 400;

const askSystem = (name: string) => lookup(name, { all: true });

/**
 * Resolves with getaddrinfo, which blocks one of the four threads of Node's pool until the name server responds. Callers
 * choose the names, so the limit keeps threads free for other work. An owner has one lookup at a time, and owners take
 * turns, so that a slow name server of one owner does not delay the lookups of all.
 */
export function createSystemResolver(askFor: Resolve = askSystem): Resolve {
  /** By owner; the first has waited longest. */
  const waiting = new Map<string, (() => void)[]>();
  const busy = new Set<string>();
  let waitingCount = 0;
  let running = 0;

  const wait = (owner: string): Promise<void> => {
    if (waitingCount >= maxWaiting) throw new EgressFailed();
    waitingCount += 1;
    return new Promise((proceed) => {
      const queue = waiting.get(owner) ?? [];
      queue.push(proceed);
      waiting.set(owner, queue);
    });
  };

  const start = (owner: string): void => {
    running += 1;
    if (owner !== noOwner) busy.add(owner);
  };

  const end = (owner: string): void => {
    running -= 1;
    busy.delete(owner);
    const next = waiting.entries().find(([each]) => !busy.has(each));
    if (next === undefined) return;
    const [nextOwner, queue] = next;
    const proceed = queue.shift() as () => void;
    waitingCount -= 1;
    waiting.delete(nextOwner);
    if (queue.length > 0) waiting.set(nextOwner, queue);
    start(nextOwner);
    proceed();
  };

  return async (name, owner = noOwner) => {
    if (running >= maxLookups || busy.has(owner)) await wait(owner);
    else start(owner);
    try {
      return await askFor(name);
    } finally {
      end(owner);
    }
  };
}

/** Names that no owner chose. */
const noOwner = '';
