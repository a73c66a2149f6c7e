import ipaddr from 'ipaddr.js';

/** The key by which rate limits count: an IPv4 address, or the /64 network of an IPv6 customer. */
export function rateLimitKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}
