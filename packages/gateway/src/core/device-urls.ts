/** Where the listeners are; null where it is not known, as for a port that the system chooses. */
export interface ListenerUrls {
  console: string | null;
  mqtt: string | null;
}

/** What of the settings decides where devices go. */
export interface DevicePlaces {
  publicAddresses: { deviceUrls: string[] | null; consoleUrl: string | null };
  /** The operator's broker; null: our own. */
  mqtt: { platform: { url: URL } | null };
}

/** The addresses that a device is given: of the operator's broker, without its credentials, or of our own listeners. */
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

/** Nobody can connect to "every address of this machine". */
function reachable(url: string): string {
  return url.replace(unspecified, '$1localhost');
}

/** For browsers on this machine: passkeys need a name. */
export function byName(url: string): string {
  return reachable(url).replace(loopback, '$1localhost');
}

/** As the settings say, where nobody has listened yet. TLS is for HTTP alone, and so for MQTT over WebSocket. */
export function configuredListeners(
  { host, consolePort, tls }: { host: string; consolePort: number; tls: object | null },
  mqttPort: number,
): ListenerUrls {
  return {
    console: listenerUrl(tls === null ? 'http' : 'https', host, consolePort),
    mqtt: listenerUrl('mqtt', host, mqttPort),
  };
}

/** null for a port that the system chooses. */
export function listenerUrl(scheme: string, host: string, port: number): string | null {
  return port === 0 ? null : `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
