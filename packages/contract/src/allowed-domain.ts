// The syntax of an allowed domain (docs/callers.md#requests-from-a-browser), for the console, the command line and the app.

export interface AllowedDomain {
  wildcard: '' | '*.';
  host: string;
  /** '' allows any port. */
  port: string;
}

/** Letters, digits and hyphens between dots, as in RFC 1123; underscores are common in home networks. */
const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const hostName = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
const ipv4 = /^\d+\.\d+\.\d+\.\d+$/;

/**
 * The canonical form that is stored: lower case, punycode, with `*.` and the port if present; undefined for text that is not
 * a domain. A name without a dot is accepted only in an address (http://nas, nas:8080); alone it is usually a mistake.
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
