// What goes over MQTT. Pure.
import { kind } from '@tocsin/contract';
import type { Notification } from '../../gateway/ports.ts';

/** Ids are made by the service and hold no slash or wildcard, so a topic belongs to exactly one device. */
export function deviceTopic(prefix: string, ownerId: string, deviceId: string): string {
  return `${prefix}/${ownerId}/${deviceId}/notifications`;
}

/** Where a device may confirm that it got something. */
export function acknowledgementTopic(prefix: string, ownerId: string, deviceId: string): string {
  return `${prefix}/${ownerId}/${deviceId}/ack`;
}

export function messageOf({ id, title, body, source, category, severity, data, createdAt }: Notification): Buffer {
  const message = {
    id,
    type: kind,
    title,
    body,
    source,
    category,
    severity,
    data,
    createdAt: new Date(createdAt).toISOString(),
  };
  return Buffer.from(JSON.stringify(message));
}
