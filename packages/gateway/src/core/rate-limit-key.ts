import ipaddr from 'ipaddr.js';

/** The unit that limits count: one IPv4 address, or the /64 network that one IPv6 customer gets. */
export function limitUnit(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}
