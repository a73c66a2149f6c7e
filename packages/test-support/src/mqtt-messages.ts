import type { MqttMessage } from '../../gateway/src/channels/mqtt/publisher.ts';
import type { Notification } from '../../gateway/src/usecases/ports/index.ts';

export const ownerId = '0190a3c0-0000-7000-8000-00000000000a';

export const sampleNotification: Notification = {
  id: '0190a3c0-0000-7000-8000-000000000001',
  ownerId,
  createdAt: Date.UTC(2026, 10, 15, 12, 0, 0),
  content: {
    title: 'Disk almost full',
    body: 'Grüße from /dev/sda1 ✓',
    source: 'backup',
    category: 'task',
    severity: 'error',
    data: { percent: 97, tags: ['a', 'b'], nested: { ok: true } },
  },
};

/** The documented message for the sample. */
export const sampleMessage = {
  id: sampleNotification.id,
  type: 'external_notification',
  title: 'Disk almost full',
  body: 'Grüße from /dev/sda1 ✓',
  source: 'backup',
  category: 'task',
  severity: 'error',
  data: { percent: 97, tags: ['a', 'b'], nested: { ok: true } },
  createdAt: '2026-11-15T12:00:00.000Z',
};

export function mqttMessage(topic: string, text: string, qos: 0 | 1 | 2 = 1): MqttMessage {
  return { topic, payload: Buffer.from(text), qos, expiresAt: null, notification: null };
}

/** A signal that does not abort while a test runs. */
export function patience(): AbortSignal {
  return AbortSignal.timeout(20_000);
}
