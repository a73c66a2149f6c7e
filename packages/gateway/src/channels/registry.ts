// The one list of channels: each made from its settings, each behind a guard of its own.
import type { EmailConfig, MqttConfig, PushConfig } from '../config/channels.ts';
import type { AddressPolicy } from '../core/address-policy.ts';
import type { MqttTarget, PushTarget } from '../core/plan.ts';
import { type BreakerState, type GuardOptions, guard } from '../delivery/guard.ts';
import { shareByOwner } from '../delivery/owner-share.ts';
import { createEgress, type Egress } from '../egress/index.ts';
import type { Channel, Channels, ManagedChannel, Store } from '../usecases/ports/index.ts';
import type { EmailChannel } from './email/index.ts';
import { createCustomPublisher } from './mqtt/custom.ts';
import { createMqttChannel } from './mqtt/index.ts';
import type { MqttPublisher } from './mqtt/publisher.ts';
import { createNotConfigured } from './not-configured.ts';
import { createPushChannel, createVapidKeys, parseVapidKeys } from './push/index.ts';
import { perProvider } from './push/per-provider.ts';

export interface ChannelSettings {
  mqtt: MqttConfig;
  email: EmailConfig | null;
  push: PushConfig;
  retentionDays: number;
}

export interface ChannelParts {
  store: Pick<Store, 'secrets' | 'pushTargets' | 'isLegacy'>;
  egress: Egresses;
  /** The broker that devices are reached through: the operator's, or the embedded one. */
  publisher: MqttPublisher;
  now: () => number;
  observer?: ChannelsObserver;
}

/** Brokers that callers bring have no breaker. */
export type GuardName = 'mqtt' | 'email' | PushTarget['provider'];

export interface ChannelsObserver {
  /** `cause` is what was said of the last failure to reach the provider. */
  onGuardState(guard: GuardName, state: BreakerState, cause: string): void;
}

/** One way out for each use: a name server that is slow for one does not hold up the other. */
export interface Egresses {
  push: Egress;
  customBroker: Egress;
}

export function createEgresses({
  customBrokerAllow: allowed,
}: {
  customBrokerAllow: AddressPolicy['allowed'];
}): Egresses {
  return { push: createEgress({ allowed }), customBroker: createEgress({ allowed }) };
}

export function closeEgresses({ push, customBroker }: Egresses): void {
  push.close();
  customBroker.close();
}

export interface ChannelSet {
  /** Guarded, for requests. */
  channels: Channels;
  /** As they are, for a look at their health and for tests by hand. */
  managed: {
    push: ManagedChannel<PushTarget>;
    /** null: no mail server is configured. */
    email: EmailChannel | null;
    mqtt: ManagedChannel<MqttTarget>;
  };
  close(): Promise<void>;
}

/** A caller's broker that does not answer takes this long at the most, and never stands in the way of ours. */
const customTimeoutMs = 8000;

const customBroker = { provider: 'The custom MQTT broker', timeoutMs: customTimeoutMs };
const customPlaces = {
  // Every request may bring another broker, so failures of some say nothing about the next.
  all: { maxConcurrent: 200, failuresToOpen: Number.POSITIVE_INFINITY },
  perOwner: { running: 20, waiting: 100 },
};

/** Mail and push keep deadlines of their own; what they say about a late provider is clearer than what the guard can say. */
const slackMs = 200;

export async function createChannels(settings: ChannelSettings, parts: ChannelParts): Promise<ChannelSet> {
  const email = settings.email && (await createEmail(settings.email, await parts.store.isLegacy()));
  const push = await createPush(settings, parts);
  const mqtt = createMqtt(settings, parts);
  return {
    channels: {
      push: perProvider(push, (provider) => ({
        provider: { webpush: 'The push service', fcm: 'FCM', apns: 'APNs' }[provider],
        timeoutMs: settings.push.timeoutMs + slackMs,
        maxConcurrent: 100,
        // Web Push goes to a different host for each browser: one that is away says little about the others.
        failuresToOpen: provider === 'webpush' ? 50 : 5,
        onStateChange: (...change) => parts.observer?.onGuardState(provider, ...change),
      })),
      email:
        email === null
          ? createNotConfigured('No mail server is configured: set TOCSIN_SMTP_URL')
          : guard(email, {
              provider: 'The mail server',
              timeoutMs: (settings.email?.timeoutMs ?? 0) + slackMs,
              maxConcurrent: 50,
              onStateChange: (...change) => parts.observer?.onGuardState('email', ...change),
            }),
      mqtt,
    },
    managed: { push, email, mqtt },
    close: async () => {
      await Promise.all([push.close(), email?.close(), mqtt.close()]);
    },
  };
}

/** Its library is loaded only where a mail server is configured. */
async function createEmail(settings: EmailConfig, isLegacy: boolean): Promise<EmailChannel> {
  const { createEmailChannel } = await import('./email/index.ts');
  return createEmailChannel(settings, undefined, isLegacy);
}

async function createPush(
  settings: ChannelSettings,
  { store, egress, now }: ChannelParts,
): Promise<ManagedChannel<PushTarget>> {
  return createPushChannel(settings.push, {
    vapid: parseVapidKeys(await store.secrets.obtain('webpush_vapid', createVapidKeys)),
    dial: async (url, request, signal) => {
      const { status, headers } = await egress.push.post(url, request, signal);
      return {
        status,
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      };
    },
    disable: (id) => store.pushTargets.disable(id, now()),
    now,
    retentionDays: settings.retentionDays,
    webPushHosts: settings.push.webPushHosts,
  });
}

function createMqtt(
  settings: ChannelSettings,
  { publisher, egress, now, observer }: ChannelParts,
): ManagedChannel<MqttTarget> {
  const guarded = (options: GuardOptions) => (channel: Channel<MqttTarget>) => guard(channel, options);
  return createMqttChannel({
    publisher,
    custom: createCustomPublisher(egress.customBroker, { now, timeoutMs: customTimeoutMs }),
    topicPrefix: settings.mqtt.topicPrefix,
    retentionDays: settings.retentionDays,
    guards: {
      own: guarded({
        provider: 'The MQTT broker',
        timeoutMs: settings.mqtt.timeoutMs,
        maxConcurrent: 2000,
        whenBack: (close) => publisher.onConnected?.(close),
        onStateChange: (...change) => observer?.onGuardState('mqtt', ...change),
      }),
      custom: (channel) =>
        shareByOwner(guard(channel, { ...customBroker, ...customPlaces.all }), {
          ...customBroker,
          ...customPlaces.perOwner,
        }),
    },
  });
}
