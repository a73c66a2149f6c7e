// Which network addresses a caller may make the gateway connect to.
import ipaddr from 'ipaddr.js';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

const globalUnicast: readonly Network[] = [[ipaddr.parse('2000::'), 3]];

export interface AddressPolicy {
  /** Networks allowed although they are not public. */
  allowed: readonly Network[];
}

/** Parses `127.0.0.1/32` or a single address; undefined when it is neither. */
export function parseNetwork(text: string): Network | undefined {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    return undefined;
  }
}

/** True for a public unicast address, or one in an allowed network. IPv4-mapped IPv6 addresses are checked as IPv4. */
export function isAddressAllowed(text: string, policy: AddressPolicy): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return isPublic(address) || isInNetworks(address, policy.allowed);
}

/** The allocated global unicast range: the library also reports ::/96 and other obsolete ranges as unicast. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || isInNetworks(address, globalUnicast));
}

export function isInNetworks(address: ipaddr.IPv4 | ipaddr.IPv6, networks: readonly Network[]): boolean {
  return networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}
