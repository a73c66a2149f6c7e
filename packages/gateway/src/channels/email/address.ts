// The sender address of email, and its domain as a Message-ID can contain it.
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

/** The domain in ASCII, as a Message-ID requires. */
export function domainOf(address: string): string {
  return domainToASCII(address.slice(address.lastIndexOf('@') + 1)) || 'localhost';
}
