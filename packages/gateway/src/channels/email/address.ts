// Addresses in the two places where mail needs them. A comma or a bracket too many would send mail to somebody else.
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

/** Exactly one plain address: no list, no display name, no comment, no control character. */
export function isOneAddress(text: string): boolean {
  return text.length <= 254 && /^[^\s@<>(),;:"\\[\]\p{Cc}]+@[^\s@<>(),;:"\\[\]\p{Cc}]+$/u.test(text);
}
