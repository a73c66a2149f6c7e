// The MQTT settings of a device in the formats that programs and apps accept.
import type { MqttSettings } from '@tocsin/contract/console';
import { shellString } from '../keys/quote.ts';

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

export function readConnections({ urls }: MqttSettings): MqttConnection[] {
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

/** null if the broker is reachable only over WebSocket, which mosquitto_sub does not support. */
export function mosquittoCommand(settings: MqttSettings): string | null {
  const plain = readConnections(settings).find(({ isWebSocket }) => !isWebSocket);
  if (plain === undefined) return null;
  return [
    `mosquitto_sub -h ${shellString(plain.host)} -p ${plain.port}${plain.isEncrypted ? ' --tls-use-os-certs' : ''} \\`,
    `  -u ${shellString(settings.username)} -P ${shellString(settings.password)} \\`,
    `  -t ${shellString(settings.topic)} -q 1 -v`,
  ].join('\n');
}

/** An automation for the YAML editor. Home Assistant takes the broker settings in a form instead of a file. */
export function homeAssistantAutomation({ topic }: MqttSettings): string {
  return [
    'alias: Tocsin notifications',
    'triggers:',
    '  - trigger: mqtt',
    `    topic: ${JSON.stringify(topic)}`,
    '    qos: 1',
    'actions:',
    '  - action: persistent_notification.create',
    '    data:',
    '      title: "{{ trigger.payload_json.title }}"',
    '      message: "{{ trigger.payload_json.body }}"',
  ].join('\n');
}

/**
 * The content of the QR code. There is no standard: mosquitto's `-L` and several apps read mqtt://user:password@host:port/topic.
 * A WebSocket URL has a path of its own and no place for the topic, so JSON is used for it.
 */
export function qrText(settings: MqttSettings): string {
  const { username, password, topic, urls } = settings;
  const plain = readConnections(settings).find(({ isWebSocket }) => !isWebSocket);
  if (plain === undefined) return JSON.stringify({ url: urls[0], username, password, topic });
  const host = plain.host.includes(':') ? `[${plain.host}]` : plain.host;
  const user = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
  return `${plain.scheme}://${user}@${host}:${plain.port}/${topic}`;
}
