// The address that mail comes from, and what of it a Message-ID can carry.
import { domainToASCII } from 'node:url';

export interface Sender {
  name: string;
  address: string;
}

/** `tocsin@example.com` or `Tocsin <tocsin@example.com>`; the configuration let nothing else through. */
export function parseSender(from: string): Sender {
  const [, name = '', address = from] = /^([^<]*)<([^>]*)>$/.exec(from) ?? [];
  return { name: name.trim().replace(/^"(.*)"$/, '$1'), address: address.trim() };
}

/** The part that a Message-ID can carry: ASCII, whatever the address is written in. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1)) || 'localhost';
}
