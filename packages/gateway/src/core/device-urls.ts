/** Where the listeners are; null where it is not known, as for a port that the system chooses. */
export interface ListenerUrls {
  console: string | null;
  mqtt: string | null;
}

/** The addresses that a device is given: of the operator's broker, without its credentials, or of our own listeners. */
export function deviceUrls(platformUrl: URL | null, listeners: ListenerUrls): string[] {
  if (platformUrl !== null) {
    const { protocol, host, pathname } = platformUrl;
    return [`${protocol}//${host}${pathname === '/' ? '' : pathname}`];
  }
  const webSocket = listeners.console === null ? null : new URL('/mqtt', listeners.console.replace(/^http/, 'ws')).href;
  return [listeners.mqtt, webSocket].filter((url) => url !== null);
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
