// Who is to be told, over which channel. Pure: the recipients come in, the plan goes out, or the deviceId is refused.
import type { EmailSkipReason, MqttSkipReason, NormalizedRequest } from '@tocsin/contract';
import { isQuiet, type QuietHours } from './quiet-hours.ts';
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
  quietHours: QuietHours | null;
  devices: readonly Device[];
  pushTargets: readonly PushTarget[];
}

/** One address on a channel: a device, a mailbox, a push token, or the topic of a broker the caller brought. */
export type MqttTarget = { deviceId: string } | { topic: string };
export interface EmailTarget {
  address: string;
}

export interface Plan {
  push: ChannelPlan<PushTarget>;
  email: ChannelPlan<EmailTarget> & { skipReason: EmailSkipReason | null };
  mqtt: ChannelPlan<MqttTarget> & { skipReason: MqttSkipReason | null };
}

interface ChannelPlan<Target> {
  enabled: boolean;
  targets: readonly Target[];
  /** The owner's quiet hours left out whom there was to tell. */
  isHushed: boolean;
}

export function plan(request: NormalizedRequest, recipients: Recipients, now: number): Plan {
  const whole = planAll(request, recipients);
  const { quietHours } = recipients;
  return quietHours === null || request.severity === 'critical' ? whole : hush(whole, request, quietHours, now);
}

/** Without quiet hours. */
function planAll(request: NormalizedRequest, recipients: Recipients): Plan {
  const device = request.deviceId === null ? null : findDevice(recipients.devices, request.deviceId);
  const emailEnabled = request.sendEmail ?? recipients.emailAlerts;
  const mqttTargets = request.sendMqtt ? planMqtt(request, device, recipients.devices) : [];
  return {
    push: { enabled: request.sendPush, targets: request.sendPush ? recipients.pushTargets : [], isHushed: false },
    email: {
      enabled: emailEnabled,
      targets: emailEnabled && recipients.email !== null ? [{ address: recipients.email }] : [],
      isHushed: false,
      skipReason: emailSkipReason(request, recipients),
    },
    mqtt: {
      enabled: request.sendMqtt,
      targets: mqttTargets,
      isHushed: false,
      skipReason: !request.sendMqtt ? 'disabled_by_request' : mqttTargets.length === 0 ? 'no_active_devices' : null,
    },
  };
}

/** Leaves out the targets of channels that are to be silent now. Nothing is kept for later: it is in the inbox. */
function hush(whole: Plan, request: NormalizedRequest, quietHours: QuietHours, now: number): Plan {
  const { push, email, mqtt } = whole;
  const isHushed = (channel: keyof Plan): boolean =>
    whole[channel].targets.length > 0 && isQuiet(quietHours[channel], quietHours.timeZone, now);
  // The topic of a broker that the caller brought is none of the owner's devices.
  const isCallersTopic = typeof request.customBroker?.topic === 'string';
  return {
    push: isHushed('push') ? { ...push, targets: [], isHushed: true } : push,
    // A request that asks for mail outright goes over the owner's preferences, these too.
    email:
      request.sendEmail !== true && isHushed('email')
        ? { enabled: false, targets: [], isHushed: true, skipReason: 'quiet_hours' }
        : email,
    mqtt:
      !isCallersTopic && isHushed('mqtt') ? { ...mqtt, targets: [], isHushed: true, skipReason: 'quiet_hours' } : mqtt,
  };
}

/** A missing address comes before the owner's preference: an owner without one cannot switch email on. */
function emailSkipReason(request: NormalizedRequest, recipients: Recipients): EmailSkipReason | null {
  if (request.sendEmail === false) return 'disabled_by_request';
  if (recipients.email === null) return 'no_address';
  return request.sendEmail === null && !recipients.emailAlerts ? 'disabled_by_owner' : null;
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
