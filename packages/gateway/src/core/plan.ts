// Who is to be told, over which channel. Pure: the recipients come in, the plan goes out, or the deviceId is refused.
import type { MqttSkipReason, NormalizedRequest } from '@tocsin/contract';
import { Refusal } from './refusal.ts';

export interface Device {
  id: string;
  state: 'active' | 'inactive';
  paused: boolean;
}

export interface PushTarget {
  id: string;
  provider: 'webpush' | 'fcm' | 'apns';
  token: string;
}

/** Where an owner can be reached, and what the owner prefers. */
export interface Recipients {
  email: string | null;
  emailAlerts: boolean;
  devices: readonly Device[];
  pushTargets: readonly PushTarget[];
}

/** One address on a channel: a device, a mailbox, a push token, or the topic of a broker the caller brought. */
export type MqttTarget = { deviceId: string } | { topic: string };
export interface EmailTarget {
  address: string;
}

export interface Plan {
  push: { enabled: boolean; targets: readonly PushTarget[] };
  email: { enabled: boolean; targets: readonly EmailTarget[] };
  mqtt: { enabled: boolean; targets: readonly MqttTarget[]; skipReason: MqttSkipReason | null };
}

export function plan(request: NormalizedRequest, recipients: Recipients): Plan {
  const device = request.deviceId === null ? null : findDevice(recipients.devices, request.deviceId);
  const emailEnabled = request.sendEmail ?? recipients.emailAlerts;
  const mqttTargets = request.sendMqtt ? planMqtt(request, device, recipients.devices) : [];
  return {
    push: { enabled: request.sendPush, targets: request.sendPush ? recipients.pushTargets : [] },
    email: {
      enabled: emailEnabled,
      targets: emailEnabled && recipients.email !== null ? [{ address: recipients.email }] : [],
    },
    mqtt: {
      enabled: request.sendMqtt,
      targets: mqttTargets,
      skipReason: !request.sendMqtt ? 'disabled_by_request' : mqttTargets.length === 0 ? 'no_active_devices' : null,
    },
  };
}

export function isPublishable(device: Device): boolean {
  return device.state === 'active' && !device.paused;
}

/** A device of another owner is not found, exactly as one that never was. */
function findDevice(devices: readonly Device[], id: string): Device {
  const device = devices.find((candidate) => candidate.id === id);
  if (device === undefined) throw new Refusal('device_not_found');
  if (!isPublishable(device)) throw new Refusal('device_not_publishable');
  return device;
}

function planMqtt(request: NormalizedRequest, device: Device | null, devices: readonly Device[]): MqttTarget[] {
  const topic = request.customBroker?.topic ?? null;
  if (topic !== null) return [{ topic }];
  const targets = device === null ? devices.filter(isPublishable) : [device];
  return targets.map(({ id }) => ({ deviceId: id }));
}
