// The connection settings of an MQTT device, as clients take them; for the command line and the app.
import type { MqttSettings } from './console/devices.ts';
import { shellString } from './shell-string.ts';

export interface MqttConnection {
  url: string;
  scheme: 'mqtt' | 'mqtts' | 'ws' | 'wss';
  host: string;
  port: number;
  isEncrypted: boolean;
  isWebSocket: boolean;
  /** The path of the WebSocket; null for plain MQTT. */
  path: string | null;
}

const schemes = {
  mqtt: { port: 1883, isEncrypted: false, isWebSocket: false },
  mqtts: { port: 8883, isEncrypted: true, isWebSocket: false },
  ws: { port: 80, isEncrypted: false, isWebSocket: true },
  wss: { port: 443, isEncrypted: true, isWebSocket: true },
} as const;

export function readConnections({ urls }: Pick<MqttSettings, 'urls'>): MqttConnection[] {
  return urls.map((url) => {
    const { protocol, hostname, port, pathname } = new URL(url);
    const scheme = protocol.slice(0, -1) as MqttConnection['scheme'];
    const { port: defaultPort, isEncrypted, isWebSocket } = schemes[scheme];
    return {
      url,
      scheme,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || defaultPort,
      isEncrypted,
      isWebSocket,
      path: isWebSocket ? pathname : null,
    };
  });
}

/**
 * The command that prints the notifications of a device, in parts that are joined by spaces, or by line continuations.
 * null if the broker is reachable only over WebSocket, which mosquitto_sub does not support.
 */
export function mosquittoCommand(settings: MqttSettings): string[] | null {
  const plain = readConnections(settings).find(({ isWebSocket }) => !isWebSocket);
  if (plain === undefined) return null;
  return [
    `mosquitto_sub -h ${shellString(plain.host)} -p ${plain.port}${plain.isEncrypted ? ' --tls-use-os-certs' : ''}`,
    `-u ${shellString(settings.username)} -P ${shellString(settings.password)}`,
    `-t ${shellString(settings.topic)} -q 1 -v`,
  ];
}
