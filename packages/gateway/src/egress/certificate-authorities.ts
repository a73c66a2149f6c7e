import { getCACertificates } from 'node:tls';

/** Node takes a list of its own in place of the authorities it knows; this is both. */
export function knownAuthoritiesAnd(ca: string): string[] {
  return [...getCACertificates('default'), ca];
}
