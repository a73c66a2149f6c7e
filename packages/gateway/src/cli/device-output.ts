// How commands show a device. The server prints its first device in the same way.
import type { StoredDevice } from '../usecases/ports/index.ts';
import type { CreatedDevice } from '../usecases/registration.ts';
import { isoTime } from './command.ts';

export interface ListedDevice extends StoredDevice {
  topic: string;
}

export function createdDeviceJson({ device, mqtt }: CreatedDevice) {
  return { ...deviceJson({ ...device, topic: mqtt.topic }), mqtt };
}

export function deviceJson({ id, ownerId, name, state, paused, createdAt, topic }: ListedDevice) {
  return { id, owner: ownerId, name, state, paused, createdAt: isoTime(createdAt), topic };
}

/** The connection settings of a new device, one per line. */
export function describeMqtt({ username, password, topic, urls }: CreatedDevice['mqtt']): string[] {
  return [
    `  username  ${username}`,
    `  password  ${password}`,
    `  topic     ${topic}`,
    ...urls.map((url) => `  broker    ${url}`),
  ];
}
