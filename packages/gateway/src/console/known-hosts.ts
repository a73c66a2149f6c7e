// Which host names the console answers to. A web page can let its own name resolve to this machine (DNS rebinding), and then
// read what the console shows to programs on it; the Host header still carries that name.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname as machineName } from 'node:os';

export interface KnownHostOptions {
  /** As the operator named it; null where it is not known. */
  consoleUrl: string | null;
  /** Names that the operator added; `*` stands for any; null: the setting is absent. */
  consoleHosts: readonly string[] | null;
  /** The installation is from before names were checked: they are accepted until the operator sets them. */
  isLegacy: boolean;
  /** The client speaks TLS, if need be as far as a trusted proxy: it has checked the name against a certificate. */
  isOverTls(message: IncomingMessage): boolean;
  /** Called once for each name that is accepted only because the installation is from before. */
  onUnknownName(name: string): void;
}

/** Beyond this many, names are no longer reported: anybody can send any. */
const mostReported = 10;

export type IsKnownHost = (message: IncomingMessage) => boolean;

export function createKnownHosts(options: KnownHostOptions): IsKnownHost {
  const { consoleUrl, consoleHosts, isLegacy, isOverTls, onUnknownName } = options;
  const own = machineName().toLowerCase();
  const known = new Set([own, `${own}.local`, ...(consoleHosts ?? [])]);
  if (consoleUrl !== null) known.add(new URL(consoleUrl).hostname);
  const reported = new Set<string>();

  return (message) => {
    const { host } = message.headers;
    // Only programs leave it out.
    if (host === undefined) return true;
    const name = nameIn(host);
    if (name === null) return false;
    if (known.has('*') || isFromNoResolver(name) || known.has(name) || isOverTls(message)) return true;
    if (!isLegacy || consoleHosts !== null) return false;
    if (reported.size < mostReported && !reported.has(name)) {
      reported.add(name);
      onUnknownName(name);
    }
    return true;
  };
}

/** null: it is no host name. */
function nameIn(host: string): string | null {
  const name = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '') ?? '';
  return name === '' ? null : name;
}

/** Addresses, and names without a dot, such as those of containers: nobody can publish one of those in the DNS. */
function isFromNoResolver(name: string): boolean {
  const isAddress = isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return isAddress || !name.includes('.') || name.endsWith('.localhost');
}
