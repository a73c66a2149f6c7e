// The host names that the console responds to. A web page can make its own name resolve to this machine (DNS rebinding) and
// then read what the console shows to local programs; the Host header still carries that name.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname as machineName } from 'node:os';

export interface KnownHostOptions {
  /** The configured address of the console; null: not configured. */
  consoleUrl: string | null;
  /** Configured names; `*` allows any; null: the setting is absent. */
  consoleHosts: readonly string[] | null;
  /** The installation is older than this check: unknown names are accepted until the setting is present. */
  isLegacy: boolean;
  /** The client uses TLS, to the console or to a trusted proxy, and so has verified the name with a certificate. */
  isOverTls(message: IncomingMessage): boolean;
  /** Called once for each name that is accepted only because of `isLegacy`. */
  onUnknownName(name: string): void;
}

/** Limits the reports, because clients can send any name. */
const maxReported = 10;

export type IsKnownHost = (message: IncomingMessage) => boolean;

export function createKnownHosts(options: KnownHostOptions): IsKnownHost {
  const { consoleUrl, consoleHosts, isLegacy, isOverTls, onUnknownName } = options;
  const own = machineName().toLowerCase();
  const known = new Set([own, `${own}.local`, ...(consoleHosts ?? [])]);
  if (consoleUrl !== null) known.add(new URL(consoleUrl).hostname);
  const reported = new Set<string>();

  return (message) => {
    const { host } = message.headers;
    // Browsers always send it.
    if (host === undefined) return true;
    const name = nameIn(host);
    if (name === null) return false;
    if (known.has('*') || isOutsideDns(name) || known.has(name) || isOverTls(message)) return true;
    if (!isLegacy || consoleHosts !== null) return false;
    if (reported.size < maxReported && !reported.has(name)) {
      reported.add(name);
      onUnknownName(name);
    }
    return true;
  };
}

/** null: not a host name. */
function nameIn(host: string): string | null {
  const name = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '') ?? '';
  return name === '' ? null : name;
}

/** IP addresses and names without a dot, such as those of containers: they cannot be published in the DNS. */
function isOutsideDns(name: string): boolean {
  const isAddress = isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return isAddress || !name.includes('.') || name.endsWith('.localhost');
}
