// What goes over MQTT. Pure.
import { kind } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';

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
