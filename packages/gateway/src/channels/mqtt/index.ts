// The MQTT channel: devices through the embedded broker or the operator's, and brokers that requests bring.
import type { ChannelSettings } from '../../core/channel.ts';
import type { Egress } from '../../egress/index.ts';
import type { ChannelModule } from '../module.ts';
import { type MqttConfig, readMqttConfig } from './config.ts';
import { describeDevices, devicesOf, type MqttTarget, reportMqtt, resolveDevice, skipReasonOf } from './target.ts';

/** The time for all messages of one request to a broker that it brought. */
const customTimeoutMs = 8000;

const customBroker = {
  provider: 'The custom MQTT broker',
  timeoutMs: customTimeoutMs,
  maxConcurrent: 200,
  // Every request may bring another broker, so the failures of some say nothing about the next.
  failuresToOpen: Number.POSITIVE_INFINITY,
};
const customPerOwner = { provider: customBroker.provider, running: 20, waiting: 100 };

export const mqttChannel: ChannelModule<MqttTarget, MqttConfig> = {
  name: 'mqtt',
  label: 'MQTT',
  provider: 'The MQTT broker',
  // Brokers from callers are counted apart: the operator cannot fix them.
  observedNames: ['mqtt', 'mqtt_custom'],
  observedName: (options) => (options.customBroker === null ? 'mqtt' : 'mqtt_custom'),
  reportsStrictly: true,
  // Messages on one MQTT connection arrive in the order in which they were sent, which allows many in flight.
  drain: { batch: 200, concurrency: 50, concurrencyWhenBehind: 50 },
  notConfigured: 'MQTT is not configured',
  guard: 'own',
  settings: readMqttConfig,

  plan(request, recipients) {
    const targets = devicesOf(request, recipients);
    return {
      channel: mqttChannel,
      enabled: request.sendMqtt,
      targets,
      skipReason: skipReasonOf(request, targets.length),
      ...(request.customBroker !== null && { isTransient: true }),
      // A topic on a broker of the caller is not one of the owner's devices.
      ...(typeof request.customBroker?.topic === 'string' && { ignoresQuietHours: true }),
    };
  },
  planFromDispatch: (request, targetIds) => ({
    channel: mqttChannel,
    enabled: request.sendMqtt,
    targets: [],
    skipReason: skipReasonOf(request, request.customBroker === null ? targetIds.length : 1),
    ...(request.customBroker !== null && { isTransient: true }),
  }),
  resolve: resolveDevice,
  describe: describeDevices,
  progress: (read, notificationId, deviceIds) => read.mqttProgress(notificationId, deviceIds),
  report: reportMqtt,

  async open({ topicPrefix, timeoutMs, platform }, tools) {
    const { publisher, allowedNetworks, retentionDays, now, onBreakerState } = tools;
    const [{ createMqttSender }, { createCustomPublisher }, { guard }, { shareByOwner }] = await Promise.all([
      import('./sender.ts'),
      import('./custom.ts'),
      import('../../delivery/guard.ts'),
      import('../../delivery/owner-share.ts'),
    ]);
    let egress: Promise<Egress> | null = null;
    const openEgress = async (): Promise<Egress> => {
      const { createEgress } = await import('../../egress/index.ts');
      return createEgress({ allowed: allowedNetworks });
    };
    const sender = createMqttSender({
      ...{ publisher, topicPrefix, retentionDays },
      custom: createCustomPublisher(
        () => {
          egress ??= openEgress();
          return egress;
        },
        { now },
      ),
      guards: {
        own: (channel) =>
          guard(channel, {
            provider: mqttChannel.provider,
            timeoutMs,
            maxConcurrent: 2000,
            onReachable: (close) => publisher.onConnected?.(close),
            onStateChange: (...change) => onBreakerState?.('mqtt', ...change),
          }),
        custom: (channel) => shareByOwner(guard(channel, customBroker), customPerOwner),
      },
    });
    return {
      ...sender,
      // After the guard: by then its breaker is closed.
      onRecovered(listener) {
        publisher.onConnected?.(listener);
        publisher.onRoom?.(listener);
      },
      keepsReceipts: platform === null,
      close: async () => {
        await sender.close();
        (await egress)?.close();
      },
    };
  },

  async diagnose({ topicPrefix, platform, embeddedPort }, _opened, { server, listenerUrl, now }) {
    if (platform !== null) {
      const { tryRoundTrip } = await import('./round-trip.ts');
      return [await tryRoundTrip(platform, { topicPrefix, now })];
    }
    // The embedded broker is part of the server, so it runs if the server does.
    const url = listenerUrl('mqtt', embeddedPort);
    const place = url === null ? 'on a random port (TOCSIN_MQTT_PORT is 0)' : `at ${url}`;
    if (server.isRunning) return [{ state: 'ok', message: `the embedded broker is running ${place}` }];
    const why =
      server.url === null ? 'cannot be checked, since TOCSIN_CONSOLE_PORT is 0' : `does not respond at ${server.url}`;
    return [{ state: 'warning', message: `the embedded broker runs in the server, which ${why}` }];
  },
};

/** MQTT always has settings: the embedded broker needs none of its own. */
export function mqttSettingsOf(settings: ChannelSettings): MqttConfig {
  return settings.get(mqttChannel.name) as MqttConfig;
}
