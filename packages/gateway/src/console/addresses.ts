// The addresses of the console, the public API and the broker as clients reach them: configured, or else those of the listeners.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { byName, type DevicePlaces, deviceUrls } from '../core/device-urls.ts';

export interface Addresses {
  /** The console without a path, as this browser reaches it. Never used in emails. */
  consoleUrl(request: FastifyRequest): string;
  /** The public API with a slash at the end, as this browser would reach it. */
  apiUrl(request: FastifyRequest): string;
  /** The addresses that MQTT devices connect to. */
  deviceUrls(request: FastifyRequest): string[];
  /** The console without a path, for links in emails: independent of any request. */
  emailedConsoleUrl(): string;
  /** Whether the browser uses TLS, to the console or to a trusted proxy. */
  isSecure(request: FastifyRequest): boolean;
  /** Browsers support passkeys only for host names, over TLS or on localhost. */
  hasPasskeys(request: FastifyRequest): boolean;
}

export interface AddressOptions {
  /** The configured address; null: not configured. */
  consoleUrl: string | null;
  apiUrl: string | null;
  devices: DevicePlaces;
  /** The addresses of the listeners. Known only after all of them listen. */
  listeners(): { api: string; console: string; mqtt: string | null };
  isTrustedProxy(message: IncomingMessage): boolean;
}

/** Whether the client uses TLS, to the console or to a trusted proxy. */
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
    const requested = URL.parse(`${isSecure(request) ? 'https' : 'http'}://${request.headers.host ?? ''}`);
    return requested?.origin ?? emailedConsoleUrl();
  }

  function emailedConsoleUrl(): string {
    return options.consoleUrl ?? new URL(byName(listeners().console)).origin;
  }

  /** A listener under the host name by which the browser reaches this machine. */
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
    emailedConsoleUrl,
    isSecure,
    hasPasskeys(request) {
      const { protocol, hostname } = new URL(consoleUrl(request));
      const isName = isIP(hostname.replace(/^\[|\]$/g, '')) === 0;
      return isName && (protocol === 'https:' || hostname === 'localhost');
    },
  };
}
