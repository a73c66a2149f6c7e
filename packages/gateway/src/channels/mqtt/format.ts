// What goes over MQTT. Pure.
import { kind, stringify } from '@tocsin/contract';
import type { Notification } from '../../usecases/ports/index.ts';

export function messageOf({ id, createdAt, content }: Notification): Buffer {
  const message = { id, type: kind, ...content, createdAt: new Date(createdAt).toISOString() };
  return Buffer.from(stringify(message));
}
