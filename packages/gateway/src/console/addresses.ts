// Where things are, as people and devices reach them: what the operator said, else where we listen.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { byName, type DevicePlaces, deviceUrls } from '../core/device-urls.ts';

export interface Addresses {
  /** Of the console, without a path, as the browser that asks reaches it. Never for anything that is mailed. */
  consoleUrl(request: FastifyRequest): string;
  /** Of the public API, ending in a slash, as that browser would reach it. */
  apiUrl(request: FastifyRequest): string;
  /** What MQTT devices connect to. */
  deviceUrls(request: FastifyRequest): string[];
  /** Of the console, without a path, for links in mails: no request can change it. */
  mailedConsoleUrl(): string;
  /** What the browser speaks is encrypted, if need be as far as a proxy. */
  isSecure(request: FastifyRequest): boolean;
  /** Browsers have passkeys for names alone, and for pages that come encrypted or from this machine. */
  hasPasskeys(request: FastifyRequest): boolean;
}

export interface AddressOptions {
  /** What the operator said; null where it said nothing. */
  consoleUrl: string | null;
  apiUrl: string | null;
  devices: DevicePlaces;
  /** Where we listen: http(s) and mqtt addresses. Known only once all ports are taken. */
  listeners(): { api: string; console: string; mqtt: string | null };
  isTrustedProxy(message: IncomingMessage): boolean;
}

/** Whether what the client speaks is encrypted, if need be as far as a proxy. */
export function isSecureMessage(
  message: IncomingMessage,
  { consoleUrl, isTrustedProxy }: Pick<AddressOptions, 'consoleUrl' | 'isTrustedProxy'>,
): boolean {
  if ('encrypted' in message.socket || consoleUrl?.startsWith('https:')) return true;
  return message.headers['x-forwarded-proto'] === 'https' && isTrustedProxy(message);
}

export function createAddresses(options: AddressOptions): Addresses {
  const { listeners } = options;

  const isSecure = ({ raw }: FastifyRequest): boolean => isSecureMessage(raw, options);

  function consoleUrl(request: FastifyRequest): string {
    if (options.consoleUrl !== null) return options.consoleUrl;
    const asked = URL.parse(`${isSecure(request) ? 'https' : 'http'}://${request.headers.host ?? ''}`);
    return asked?.origin ?? mailedConsoleUrl();
  }

  function mailedConsoleUrl(): string {
    return options.consoleUrl ?? new URL(byName(listeners().console)).origin;
  }

  /** One of our listeners, under the name by which the browser knows this machine. */
  function besideConsole(listener: string, request: FastifyRequest): string {
    const { protocol, port } = new URL(listener);
    const { hostname } = new URL(consoleUrl(request));
    return `${protocol}//${hostname}${port === '' ? '' : `:${port}`}`;
  }

  return {
    consoleUrl,
    apiUrl: (request) => options.apiUrl ?? `${besideConsole(listeners().api, request)}/`,
    deviceUrls(request) {
      const { mqtt } = listeners();
      return deviceUrls(options.devices, {
        console: consoleUrl(request),
        mqtt: mqtt === null ? null : besideConsole(mqtt, request),
      });
    },
    mailedConsoleUrl,
    isSecure,
    hasPasskeys(request) {
      const { protocol, hostname } = new URL(consoleUrl(request));
      const isName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
      return isName && (protocol === 'https:' || hostname === 'localhost');
    },
  };
}
