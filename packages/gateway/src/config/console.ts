// Settings for the public addresses of the service, and for sign-in with an OpenID provider.
import type { SettingsReader } from '../core/settings-reader.ts';

/** null: derived from the listener and the request. */
export interface PublicAddresses {
  /** URL of the console, without a path or a trailing slash. */
  consoleUrl: string | null;
  /** Additional host names that the console accepts; `*`: any; null: not set. */
  consoleHosts: string[] | null;
  /** URL of the public API, with a trailing slash. */
  apiUrl: string | null;
  /** Broker addresses that are shown for MQTT devices. */
  deviceUrls: string[] | null;
}

export interface OidcConfig {
  issuer: URL;
  clientId: string;
  clientSecret: string;
  /** Display name of the provider. */
  name: string;
  scopes: string;
  /** Whether an unknown user whom the provider authenticates becomes an owner. */
  createsOwners: boolean;
}

const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

export function readPublicAddresses(read: SettingsReader): PublicAddresses {
  return {
    consoleUrl: read.value<string | null>(
      'TOCSIN_CONSOLE_URL',
      null,
      'an address without a path, such as https://inbox.example.com',
      (text) => {
        const url = parsePublicUrl(text);
        return url?.pathname === '/' ? url.origin : undefined;
      },
    ),
    consoleHosts: read.value<string[] | null>(
      'TOCSIN_CONSOLE_HOSTS',
      null,
      'host names without ports, separated by commas, or *',
      parseHostNames,
    ),
    apiUrl: read.value<string | null>(
      'TOCSIN_API_URL',
      null,
      'an address such as https://notify.example.com/',
      (text) => parsePublicUrl(text)?.href.replace(/\/*$/, '/'),
    ),
    deviceUrls: read.value<string[] | null>(
      'TOCSIN_MQTT_PUBLIC_URL',
      null,
      'addresses that begin with mqtt:, mqtts:, ws: or wss:, without credentials, separated by commas',
      parseDeviceUrls,
    ),
  };
}

const defaultSessionDays = 90;

/** Maximum lifetime of a session in days, even if it is used. */
export function readSessionDays(read: SettingsReader): number {
  const parse = (text: string): number | undefined => {
    const days = /^\d{1,4}$/.test(text) ? Number(text) : 0;
    return days >= 1 && days <= 3650 ? days : undefined;
  };
  return read.value('TOCSIN_SESSION_MAX_DAYS', defaultSessionDays, 'a number of days from 1 to 3650', parse);
}

/** null: sign-in with an OpenID provider is not configured. */
export function readOidcConfig(
  read: SettingsReader,
  parseSwitch: (text: string) => boolean | undefined,
): OidcConfig | null {
  const wantedIssuer = 'the https issuer URL of the provider (http only on this machine)';
  let isIssuerGiven = false;
  const issuer = read.value<URL | null>('TOCSIN_OIDC_ISSUER', null, wantedIssuer, (text) => {
    isIssuerGiven = true;
    return parseIssuer(text);
  });
  const clientId = read.value<string | null>('TOCSIN_OIDC_CLIENT_ID', null, 'the id of the client', (text) => text);
  const clientSecret = read.secret('TOCSIN_OIDC_CLIENT_SECRET', 'the secret of the client', (text) => text);
  const name = read.value<string | null>('TOCSIN_OIDC_NAME', null, 'a name with at most 100 characters', (text) =>
    text.length <= 100 ? text : undefined,
  );
  const scopes = read.value('TOCSIN_OIDC_SCOPES', 'openid email profile', 'scopes with openid among them', (text) =>
    text.split(/\s+/).includes('openid') ? text : undefined,
  );
  const createsOwners = read.value('TOCSIN_OIDC_CREATE_OWNERS', false, 'on or off', parseSwitch);
  if (issuer === null) {
    if (!isIssuerGiven && (clientId !== null || clientSecret !== null))
      read.problem('TOCSIN_OIDC_ISSUER is needed with TOCSIN_OIDC_CLIENT_ID and TOCSIN_OIDC_CLIENT_SECRET.');
    return null;
  }
  if (clientId === null || clientSecret === null) {
    read.problem('TOCSIN_OIDC_ISSUER needs TOCSIN_OIDC_CLIENT_ID and TOCSIN_OIDC_CLIENT_SECRET beside it.');
    return null;
  }
  return { issuer, clientId, clientSecret, name: name ?? issuer.host, scopes, createsOwners };
}

function parseHostNames(text: string): string[] | undefined {
  const names = text.split(',').map((name) => name.trim().toLowerCase());
  return names.every((name) => name === '*' || /^[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/.test(name)) ? names : undefined;
}

function parsePublicUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') return undefined;
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain ? url : undefined;
}

function parseIssuer(text: string): URL | undefined {
  const url = parsePublicUrl(text);
  return url?.protocol === 'https:' || loopbackHosts.has(url?.hostname ?? '') ? url : undefined;
}

function parseDeviceUrls(text: string): string[] | undefined {
  const urls = text.split(',').map((part) => part.trim());
  const isFit = (each: string): boolean => {
    const url = URL.parse(each);
    return url !== null && /^(mqtts?|wss?):$/.test(url.protocol) && url.hostname !== '' && url.username === '';
  };
  return urls.every(isFit) ? urls : undefined;
}
