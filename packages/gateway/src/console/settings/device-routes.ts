import type { DeviceEntry } from '@tocsin/contract/console';
import { deviceRoutes } from '@tocsin/contract/console/routes';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { deviceTopic } from '../../core/device-topics.ts';
import { isPublishable } from '../../core/recipients.ts';
import type { StoredDevice } from '../../usecases/ports/index.ts';
import { createDevice, renewDevicePassword } from '../../usecases/registration.ts';
import type { ConsoleApiDeps } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { addRoute } from '../route.ts';
import { ownerOf } from '../signed-in.ts';
import { assertQuota } from './quotas.ts';
import type { SendTest } from './test-sends.ts';

export function addDeviceRoutes(app: FastifyInstance, deps: ConsoleApiDeps, sendTest: SendTest): void {
  const { store, environment, addresses, topicPrefix } = deps;

  function toEntry({ id, ownerId, name, state, paused, createdAt, seenAt }: StoredDevice): DeviceEntry {
    return { id, name, state, paused, createdAt, seenAt, topic: deviceTopic(topicPrefix, ownerId, id) };
  }

  /** A device of another owner is reported as not found. */
  async function find(request: FastifyRequest<{ Params: { id: string } }>): Promise<StoredDevice> {
    const { id } = request.params;
    const found = await store.devices.find(id);
    if (found === null || found.device.ownerId !== ownerOf(request).id) throw notFound('device');
    return found.device;
  }

  async function change(id: string, wanted: Parameters<typeof store.devices.change>[1]): Promise<DeviceEntry> {
    const changed = await store.devices.change(id, wanted);
    if (changed === null) throw notFound('device');
    return toEntry(changed);
  }

  function list(request: FastifyRequest): Promise<StoredDevice[]> {
    const onDamaged = (id: string): void => deps.onError(new Error(`The device ${id} cannot be decrypted.`), request);
    return store.devices.list(ownerOf(request).id, onDamaged);
  }

  addRoute(app, deviceRoutes.listDevices, async (request) => ({ devices: (await list(request)).map(toEntry) }));

  addRoute(app, deviceRoutes.createDevice, async (request) => {
    assertQuota('devices', (await list(request)).length);
    const { device, mqtt } = await createDevice(store, environment, {
      ownerId: ownerOf(request).id,
      name: request.body.name,
      topicPrefix,
      urls: addresses.deviceUrls(request),
    });
    return { device: toEntry(device), mqtt };
  });

  addRoute(app, deviceRoutes.renewPassword, async (request) => {
    const device = await find(request);
    const mqtt = await renewDevicePassword(store, environment, device, {
      topicPrefix,
      urls: addresses.deviceUrls(request),
    });
    if (mqtt === null) throw notFound('device');
    return { device: toEntry(device), mqtt };
  });

  addRoute(app, deviceRoutes.renameDevice, async (request) => {
    const { id } = await find(request);
    return change(id, { name: request.body.name });
  });

  const { pauseDevice, resumeDevice, activateDevice, deactivateDevice } = deviceRoutes;
  addRoute(app, pauseDevice, async (request) => change((await find(request)).id, { paused: true }));
  addRoute(app, resumeDevice, async (request) => change((await find(request)).id, { paused: false }));
  addRoute(app, activateDevice, async (request) => change((await find(request)).id, { state: 'active' }));
  addRoute(app, deactivateDevice, async (request) => change((await find(request)).id, { state: 'inactive' }));

  addRoute(app, deviceRoutes.deleteDevice, async (request) => {
    const { id } = await find(request);
    if (!(await store.devices.delete(id))) throw notFound('device');
  });

  addRoute(app, deviceRoutes.testDevice, async (request) => {
    const device = await find(request);
    if (!isPublishable(device)) {
      const [state, remedy] = device.state === 'inactive' ? ['inactive', 'Activate'] : ['paused', 'Resume'];
      throw new ConsoleRefusal('conflict', `This device is ${state}, so nothing is sent to it. ${remedy} it first.`);
    }
    return sendTest(request, { channel: 'mqtt', target: { id: device.id } });
  });
}
