// An entry of `allowed_domains`, section 5.3: one rule for the console's API, the command line and the page.

export interface AllowedDomain {
  wildcard: '' | '*.';
  host: string;
  /** '' for any. */
  port: string;
}

/** Letters, digits and hyphens between dots, as in RFC 1123; an underscore is common in networks at home. */
const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const hostName = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
const ipv4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * An entry as it is kept: lower case, punycode, `*.` and a port where given; undefined when it is no domain. A name
 * without a dot is taken only as part of an address (http://nas, nas:8080): alone it is more often a mistake.
 */
export function parseAllowedDomain(text: string): string | undefined {
  const trimmed = text.trim();
  const bare = trimmed.replace(/^https?:\/\//i, '').replace(/\/$/, '');
  const entry = splitAllowedDomain(bare);
  if (entry === undefined || /[\s/\\?#@*%]/.test(entry.host)) return undefined;
  const url = URL.parse(`https://${entry.host}`);
  if (url === null || Number(entry.port) > 65_535) return undefined;
  const host = canonicalHost(url.hostname);
  const isAddress = host.startsWith('[') || ipv4.test(host);
  if (isAddress ? entry.wildcard !== '' : !hostName.test(host)) return undefined;
  const isAloneWord = bare === trimmed && entry.wildcard === '' && entry.port === '' && !/[.[]/.test(host);
  if (isAloneWord && host !== 'localhost') return undefined;
  return entry.wildcard + host + (entry.port === '' ? '' : `:${Number(entry.port)}`);
}

export function splitAllowedDomain(text: string): AllowedDomain | undefined {
  const [, wildcard = '', host, port = ''] = /^(\*\.)?(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return host === undefined ? undefined : { wildcard: wildcard as AllowedDomain['wildcard'], host, port };
}

export function canonicalHost(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}
