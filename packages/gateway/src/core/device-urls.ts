/** URLs of the listeners; null if unknown, as for a port that the system chooses. */
export interface ListenerUrls {
  console: string | null;
  mqtt: string | null;
}

/** The settings that determine the addresses for devices. */
export interface DevicePlaces {
  publicAddresses: { deviceUrls: string[] | null; consoleUrl: string | null };
  /** The operator's broker; null: the embedded broker. */
  mqtt: { platform: { url: URL } | null };
}

/** The broker addresses for a device: the operator's broker, without its credentials, or the listeners of this service. */
export function deviceUrls({ publicAddresses, mqtt }: DevicePlaces, listeners: ListenerUrls): string[] {
  if (publicAddresses.deviceUrls !== null) return publicAddresses.deviceUrls;
  if (mqtt.platform !== null) {
    const { protocol, host, pathname } = mqtt.platform.url;
    return [`${protocol}//${host}${pathname === '/' ? '' : pathname}`];
  }
  const consoleUrl = publicAddresses.consoleUrl ?? listeners.console;
  const webSocket = consoleUrl === null ? null : new URL('/mqtt', consoleUrl.replace(/^http/, 'ws')).href;
  return [listeners.mqtt, webSocket].filter((url) => url !== null).map(reachable);
}

const unspecified = /^([a-z]+:\/\/)(0\.0\.0\.0|\[::\])(?=[:/]|$)/;
const loopback = /^([a-z]+:\/\/)(127\.0\.0\.1|\[::1\])(?=[:/]|$)/;

/** Replaces the unspecified address, to which no client can connect. */
export function reachable(url: string): string {
  return url.replace(unspecified, '$1localhost');
}

/** Replaces a loopback address by `localhost`, because passkeys require a host name. */
export function byName(url: string): string {
  return reachable(url).replace(loopback, '$1localhost');
}

/** URLs from the settings, without open listeners. TLS applies to HTTP, and so to MQTT over WebSocket. */
export function configuredListeners(
  { host, consolePort, tls }: { host: string; consolePort: number; tls: object | null },
  mqttPort: number,
): ListenerUrls {
  return {
    console: listenerUrl(tls === null ? 'http' : 'https', host, consolePort),
    mqtt: listenerUrl('mqtt', host, mqttPort),
  };
}

/** null if the system chooses the port. */
export function listenerUrl(scheme: string, host: string, port: number): string | null {
  return port === 0 ? null : `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
