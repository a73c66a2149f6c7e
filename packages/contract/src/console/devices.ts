// MQTT devices.
import type { Operation } from './route.ts';
import { array, flag, integer, nullable, object, oneOf, type TypeOf, text } from './schema.ts';
import { testResult } from './test-result.ts';

const deviceEntry = object({
  id: text(),
  name: text(),
  state: oneOf(['active', 'inactive']),
  paused: flag(),
  createdAt: integer(),
  seenAt: nullable(integer()),
  /** The MQTT topic of its notifications. */
  topic: text(),
});
export type DeviceEntry = TypeOf<typeof deviceEntry>;

const mqttSettings = object({
  username: text(),
  password: text(),
  topic: text(),
  /** mqtt://, mqtts://, ws:// or wss:// */
  urls: array(text()),
});
export type MqttSettings = TypeOf<typeof mqttSettings>;

const deviceWithSettings = object({ device: deviceEntry, mqtt: mqttSettings });
/** The password is shown only once. */
export type DeviceWithSettings = TypeOf<typeof deviceWithSettings>;

const name = object({ name: text({ line: 200 }) });

export const deviceOperations = {
  listDevices: { response: object({ devices: array(deviceEntry) }) },
  createDevice: { body: name, status: 201, response: deviceWithSettings },
  renewPassword: { response: deviceWithSettings },
  renameDevice: { body: name, response: deviceEntry },
  pauseDevice: { response: deviceEntry },
  resumeDevice: { response: deviceEntry },
  activateDevice: { response: deviceEntry },
  deactivateDevice: { response: deviceEntry },
  deleteDevice: { status: 204 },
  testDevice: { response: testResult },
} as const satisfies Record<string, Operation>;
