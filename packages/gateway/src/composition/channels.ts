// Broker, channels and redelivery of one process.
import type { EmbeddedBroker } from '../channels/mqtt/embedded/index.ts';
import { mqttSettingsOf } from '../channels/mqtt/index.ts';
import type { MqttPublisher } from '../channels/mqtt/publisher.ts';
import { type ChannelSet, channels, openChannels } from '../channels/registry.ts';
import { failPendingSendsOn } from '../delivery/abort-pending-sends.ts';
import { observeChannels } from '../delivery/observe.ts';
import { createIsReceived } from '../delivery/receipts.ts';
import { startRedelivery } from '../delivery/redeliver.ts';
import { resumeOrphans } from '../delivery/resume-orphans.ts';
import { clientAddress } from '../http/client-address.ts';
import { createIsConsolePage } from './console.ts';
import type { Runtime } from './runtime.ts';

/** null: the operator configured a broker. */
export async function createBrokerIfEmbedded(runtime: Runtime): Promise<EmbeddedBroker | null> {
  const { config, store, observability } = runtime;
  const { platform, topicPrefix, queueLimit } = mqttSettingsOf(config.channels);
  if (platform !== null) return null;
  const { createEmbeddedBroker } = await import('../channels/mqtt/embedded/index.ts');
  return createEmbeddedBroker({
    ...{ store, topicPrefix, queueLimit },
    now: Date.now,
    onEvent: observability.onBrokerEvent,
    addressOf: (request) => clientAddress(request, config.trustedProxies),
    isOwnPage: await createIsConsolePage(runtime),
  });
}

/** Devices are reached through the embedded broker of this process or of its primary, otherwise through the operator's. */
export async function openOwnChannels(runtime: Runtime, embedded: MqttPublisher | null): Promise<ChannelSet> {
  const { config, store, opened, observability, lifecycle } = runtime;
  const publisher = opened.adopt(embedded ?? (await connectPlatform(runtime)), (each) => each.close(), 'broker');
  const set = await openChannels(config.channels, {
    ...{ store, publisher },
    allowedNetworks: config.customBrokerAllow,
    retentionDays: config.retentionDays,
    now: Date.now,
    onBreakerState: observability.onBreakerState,
  });
  opened.adopt(set, (each) => each.close(), 'channels');
  for (const [name, channel] of set.opened) channel.onRecovered?.(() => lifecycle.wake(name));
  return { ...set, channels: failPendingSendsOn(opened.abortSends, set.channels) };
}

async function connectPlatform({ config, log }: Runtime): Promise<MqttPublisher> {
  const { platform } = mqttSettingsOf(config.channels);
  if (platform === null) throw new Error('There is no broker to connect to.');
  const { createPlatformBroker } = await import('../channels/mqtt/platform.ts');
  return createPlatformBroker(platform, { now: Date.now, onStateChange: log.brokerState });
}

/** Resolves when the orphaned deliveries of a crash are queued, so that no later notification overtakes them. */
export async function openRedelivery(runtime: Runtime, set: ChannelSet): Promise<void> {
  const { config, store, lifecycle, observability, log, opened } = runtime;
  // An SQLite store has one server, which has just started: every dispatch in it was interrupted.
  if (config.databaseUrl === null) {
    const deps = { ...lifecycle, store, now: Date.now, onFailed: log.redeliveryFailed };
    await resumeOrphans(deps, 'all').catch(log.redeliveryFailed);
    await store.targetQueues.expireLeases(Date.now()).catch(log.redeliveryFailed);
  }
  for (const { name, isProbedWhenDown } of channels) {
    const channel = isProbedWhenDown && set.opened.get(name);
    if (channel) lifecycle.recovery.probeWith(name, async () => (await channel.check()) === null);
  }
  const redelivery = startRedelivery({
    store,
    channels: observeChannels(set.channels, channels, 'redelivery', observability.deliveryObserver),
    lifecycle,
    isReceived: createIsReceived(store, channels, (name) => set.opened.get(name)?.keepsReceipts === true),
    now: Date.now,
    random: Math.random,
    onFailed: log.redeliveryFailed,
    onDead: log.deliveryDead,
  });
  opened.adopt(redelivery, (each) => each.close(), 'redelivery');
}
