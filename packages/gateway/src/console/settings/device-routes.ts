import type { DeviceEntry, DeviceWithSettings } from '@tocsin/contract/console';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isPublishable } from '../../core/plan.ts';
import type { StoredDevice } from '../../usecases/ports/index.ts';
import { createDevice, renewDevicePassword } from '../../usecases/registration.ts';
import type { ConsoleApiParts } from '../deps.ts';
import { ConsoleRefusal, notFound } from '../refusal.ts';
import { ownerOf } from '../signed-in.ts';
import { checkRoom } from './ceilings.ts';
import { Fields } from './fields.ts';
import type { SendTest } from './test-sends.ts';

interface OneDevice {
  Params: { id: string };
}

const changes = {
  pause: { paused: true },
  resume: { paused: false },
  activate: { state: 'active' },
  deactivate: { state: 'inactive' },
} as const;

export function addDeviceRoutes(app: FastifyInstance, parts: ConsoleApiParts, sendTest: SendTest): void {
  const { store, makers, addresses, topicPrefix } = parts;

  /** A device of another owner is not found, exactly as one that never was. */
  async function find(request: FastifyRequest<OneDevice>): Promise<StoredDevice> {
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
    const onDamaged = (id: string): void => parts.onError(new Error(`The device ${id} does not open.`), request);
    return store.devices.list(ownerOf(request).id, onDamaged);
  }

  app.get('/devices', async (request) => ({ devices: (await list(request)).map(toEntry) }));

  app.post('/devices', async (request, reply) => {
    const name = readName(request.body);
    checkRoom('devices', (await list(request)).length);
    const urls = addresses.deviceUrls(request);
    const { device, mqtt } = await createDevice(store, makers, {
      ownerId: ownerOf(request).id,
      name,
      topicPrefix,
      urls,
    });
    reply.code(201);
    return { device: toEntry(device), mqtt } satisfies DeviceWithSettings;
  });

  app.post<OneDevice>('/devices/:id/password', async (request) => {
    const device = await find(request);
    const mqtt = await renewDevicePassword(store, makers, device, {
      topicPrefix,
      urls: addresses.deviceUrls(request),
    });
    if (mqtt === null) throw notFound('device');
    return { device: toEntry(device), mqtt } satisfies DeviceWithSettings;
  });

  app.post<OneDevice>('/devices/:id/rename', async (request) => {
    const { id } = await find(request);
    return change(id, { name: readName(request.body) });
  });

  for (const [verb, wanted] of Object.entries(changes)) {
    app.post<OneDevice>(`/devices/:id/${verb}`, async (request) => change((await find(request)).id, wanted));
  }

  app.delete<OneDevice>('/devices/:id', async (request, reply) => {
    const { id } = await find(request);
    if (!(await store.devices.delete(id))) throw notFound('device');
    return reply.code(204).send();
  });

  app.post<OneDevice>('/devices/:id/test', async (request) => {
    const device = await find(request);
    if (!isPublishable(device)) {
      const [state, remedy] = device.state === 'inactive' ? ['inactive', 'Activate'] : ['paused', 'Resume'];
      throw new ConsoleRefusal('conflict', `This device is ${state}, so nothing is sent to it. ${remedy} it first.`);
    }
    return sendTest(request, { channel: 'mqtt', device });
  });
}

function readName(body: unknown): string {
  const fields = new Fields(body);
  const name = fields.text('name', 200);
  fields.check();
  return name;
}

function toEntry({ id, name, state, paused, createdAt, seenAt }: StoredDevice): DeviceEntry {
  return { id, name, state, paused, createdAt, seenAt };
}
