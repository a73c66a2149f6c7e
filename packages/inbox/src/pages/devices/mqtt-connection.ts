// The MQTT settings of a device in the formats that programs and apps accept.
import type { MqttSettings } from '@tocsin/contract/console';
import { readConnections } from '@tocsin/contract/mqtt-connection';

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
