// The devices of an owner, or a topic on a broker from the request. Pure.
import type { MqttSkipReason, NormalizedRequest } from '@tocsin/contract';
import type { ChannelTarget, FlatReport, PlannedChannel, TargetReader, UnavailableTarget } from '../../core/channel.ts';
import { isAccepted, type Outcome, retry } from '../../core/outcome.ts';
import { type Device, isPublishable, type Recipients } from '../../core/recipients.ts';
import { Refusal } from '../../core/refusal.ts';

/** A device by id, or a topic on a broker that the request brought; its id is empty. */
export interface MqttTarget extends ChannelTarget {
  topic?: string;
}

/** The device is looked up first: a wrong id is refused even if the request disables MQTT. */
export function devicesOf(request: NormalizedRequest, { devices }: Recipients): MqttTarget[] {
  const device = request.deviceId === null ? null : findDevice(devices, request.deviceId);
  if (!request.sendMqtt) return [];
  const topic = request.customBroker?.topic ?? null;
  if (topic !== null) return [{ id: '', topic }];
  const targets = device === null ? devices.filter(isPublishable) : [device];
  return targets.map(({ id }) => ({ id }));
}

/** A device of another owner is not found, exactly like one that does not exist. */
function findDevice(devices: readonly Device[], id: string): Device {
  const device = devices.find((candidate) => candidate.id === id);
  if (device === undefined) throw new Refusal('device_not_found');
  if (!isPublishable(device)) throw new Refusal('device_not_publishable');
  return device;
}

export function skipReasonOf({ sendMqtt }: NormalizedRequest, count: number): MqttSkipReason | null {
  if (!sendMqtt) return 'disabled_by_request';
  return count === 0 ? 'no_active_devices' : null;
}

export function resolveDevice({ devices }: Recipients, targetId: string): MqttTarget | UnavailableTarget {
  const device = devices.find(({ id }) => id === targetId);
  if (device === undefined || device.state === 'inactive') {
    return { kind: 'gone', error: 'The device is deleted or inactive' };
  }
  return isPublishable(device) ? { id: targetId } : retry('unreachable', 'The device is paused');
}

export async function describeDevices(read: TargetReader): Promise<ReadonlyMap<string, string>> {
  return new Map((await read.devices()).map(({ id, name }) => [id, name]));
}

export function reportMqtt(
  { enabled, skipReason }: PlannedChannel,
  outcomes: readonly Outcome[],
  { strictDelivery }: NormalizedRequest,
): FlatReport {
  const failed = outcomes.filter((outcome) => !isAccepted(outcome));
  const [first] = failed;
  return {
    fields: {
      mqttPublishedCount: outcomes.length - failed.length,
      mqttFailedCount: failed.length,
      mqttSkipped: skipReason !== null,
      ...(skipReason !== null && { mqttSkipReason: skipReason as MqttSkipReason }),
      mqttError: first?.error ?? null,
      mqttEnabled: enabled,
    },
    warnings: [
      ...(failed.length > 0 && !strictDelivery ? (['mqtt_publish_failed_partial'] as const) : []),
      ...(outcomes.some(({ kind }) => kind === 'queued') ? (['mqtt_no_subscriber'] as const) : []),
    ],
  };
}
