// Whether a page of this origin may use a key with allowed domains (docs/callers.md#requests-from-a-browser).
import { canonicalHost, splitAllowedDomain } from '@tocsin/contract';

/** Always accepted, whatever the key allows. */
const localHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);

const defaultPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** `Origin` decides where present, else `Referer`; a request with neither comes from a server and is accepted. */
export function isOriginAllowed(
  headers: { origin: string | undefined; referer: string | undefined },
  allowedDomains: readonly string[],
): boolean {
  if (allowedDomains.length === 0) return true;
  const claimed = headers.origin?.trim() || headers.referer?.trim();
  if (!claimed) return true;
  const url = URL.parse(claimed);
  if (url === null || url.hostname === '') return false;
  const host = canonicalHost(url.hostname);
  if (localHosts.has(host)) return true;
  const port = url.port || defaultPorts[url.protocol] || '';
  return allowedDomains.some((entry) => matches(entry, host, port));
}

function matches(allowed: string, host: string, port: string): boolean {
  const entry = splitAllowedDomain(allowed);
  if (entry === undefined || (entry.port !== '' && entry.port !== port)) return false;
  // The dot is part of what is compared, so *.example.com admits neither example.com nor badexample.com.
  return entry.wildcard === '' ? host === entry.host : host.endsWith(`.${entry.host}`) && host !== `.${entry.host}`;
}
