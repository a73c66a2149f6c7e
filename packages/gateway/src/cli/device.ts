import { mqttSettingsOf } from '../channels/mqtt/index.ts';
import type { Config } from '../config/server.ts';
import { deviceTopic } from '../core/device-topics.ts';
import { configuredListeners, deviceUrls } from '../core/device-urls.ts';
import type { Device } from '../core/recipients.ts';
import type { StoredDevice } from '../usecases/ports/index.ts';
import { createDevice, systemEnvironment } from '../usecases/registration.ts';
import {
  type Command,
  type CommandGroup,
  isoTime,
  notFound,
  ownerOption,
  readName,
  resolveOwner,
  table,
  withStore,
} from './command.ts';
import { createdDeviceJson, describeMqtt, deviceJson, type ListedDevice } from './device-output.ts';
import { testDeviceCommand } from './test-device.ts';

export const deviceCommands: CommandGroup = {
  summary: 'Devices: MQTT clients that receive the notifications of an owner',
  commands: {
    create: {
      summary: 'Create a device; its password is shown once',
      options: {
        owner: ownerOption,
        name: { kind: 'string', value: 'NAME', help: 'the name of the device', required: true },
      },
      run: async (args, environment) => {
        const name = readName(args, 'name') as string;
        const { device, mqtt } = await withStore(environment, async (store, config) => {
          const { id: ownerId } = await resolveOwner(store, args.text('owner'));
          const settings = mqttSettingsOf(config.channels);
          const { topicPrefix, embeddedPort } = settings;
          const places = { publicAddresses: config.publicAddresses, mqtt: settings };
          const urls = deviceUrls(places, configuredListeners(config, embeddedPort));
          return createDevice(store, systemEnvironment, { ownerId, name, topicPrefix, urls });
        });
        return {
          json: createdDeviceJson({ device, mqtt }),
          text: [
            `Created device ${device.id} (${device.name}). The password is shown only now:`,
            '',
            ...describeMqtt(mqtt),
          ].join('\n'),
        };
      },
    },
    list: {
      summary: 'List the devices of an owner',
      options: { owner: ownerOption },
      run: (args, environment) =>
        withStore(environment, async (store, config) => {
          const devices = await store.devices.list((await resolveOwner(store, args.text('owner'))).id);
          const listed = devices.map((device) => addTopic(device, config));
          return { json: listed.map(deviceJson), text: describe(listed) };
        }),
    },
    pause: changing('Pause delivery to a device', { paused: true }),
    resume: changing('Resume delivery to a paused device', { paused: false }),
    activate: changing('Activate a device', { state: 'active' }),
    deactivate: changing('Deactivate a device', { state: 'inactive' }),
    test: testDeviceCommand,
    delete: {
      summary: 'Delete a device',
      positional: 'ID',
      run: ({ positional }, environment) =>
        withStore(environment, async (store) => {
          if (!(await store.devices.delete(positional))) notFound('device', positional);
          return { json: { id: positional, deleted: true }, text: `Deleted device ${positional}.` };
        }),
    },
  },
};

function changing(summary: string, change: Partial<Pick<Device, 'state' | 'paused'>>): Command {
  return {
    summary,
    positional: 'ID',
    run: ({ positional }, environment) =>
      withStore(environment, async (store, config) => {
        const changed = (await store.devices.change(positional, change)) ?? notFound('device', positional);
        const device = addTopic(changed, config);
        return { json: deviceJson(device), text: describe([device]) };
      }),
  };
}

function addTopic(device: StoredDevice, config: Config): ListedDevice {
  const { topicPrefix } = mqttSettingsOf(config.channels);
  return { ...device, topic: deviceTopic(topicPrefix, device.ownerId, device.id) };
}

function describe(devices: ListedDevice[]): string {
  return table(
    ['ID', 'NAME', 'STATE', 'PAUSED', 'CREATED', 'TOPIC'],
    devices.map(({ id, name, state, paused, createdAt, topic }) => [
      id,
      name,
      state,
      paused ? 'yes' : 'no',
      isoTime(createdAt),
      topic,
    ]),
    "No devices yet. Create one: 'tocsin device create --name NAME'.",
  );
}
