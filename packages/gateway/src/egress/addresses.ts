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

/** Every address of a name. `owner` is on whose behalf it is asked, where owners choose the names. */
export type Resolve = (name: string, owner?: string) => Promise<readonly { address: string }[]>;

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
/** Names that may wait for their turn: twice what may be dialled at once. */
const maxWaiting = 400;

const askSystem = (name: string) => lookup(name, { all: true });

/**
 * Asks the system. getaddrinfo blocks one of the four threads of Node's pool for as long as a name server likes, and
 * callers choose the names: so there are always threads left for everybody else. An owner has one lookup at a time, and
 * owners take turns, or the slow name server of one would hold up the names of all.
 */
export function createSystemResolver(askFor: Resolve = askSystem): Resolve {
  /** By owner; the first has waited longest for its turn. */
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
    if (owner !== nobody) busy.add(owner);
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

  return async (name, owner = nobody) => {
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
const nobody = '';
