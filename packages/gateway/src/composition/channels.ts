// Broker, channels and redelivery of one process.
import { createEmbeddedBroker, type EmbeddedBroker } from '../channels/mqtt/embedded/index.ts';
import type { MqttPublisher } from '../channels/mqtt/publisher.ts';
import { type ChannelSet, closeEgresses, createChannels, createEgresses } from '../channels/registry.ts';
import { callOffAt } from '../delivery/abort-pending-sends.ts';
import { observeChannels } from '../delivery/observe.ts';
import { startRedelivery } from '../delivery/redeliver.ts';
import { takeUpLeftBehind } from '../delivery/resume-orphans.ts';
import { clientAddress } from '../http/client-address.ts';
import { createIsConsolePage } from './console.ts';
import type { Runtime } from './runtime.ts';

/** null: the operator configured a broker. */
export async function createBrokerIfEmbedded(runtime: Runtime): Promise<EmbeddedBroker | null> {
  const { config, store, observability } = runtime;
  if (config.mqtt.platform !== null) return null;
  return createEmbeddedBroker({
    store,
    topicPrefix: config.mqtt.topicPrefix,
    queueLimit: config.mqtt.queueLimit,
    now: Date.now,
    onEvent: observability.onBrokerEvent,
    addressOf: (request) => clientAddress(request, config.trustedProxies),
    isOwnPage: await createIsConsolePage(runtime),
  });
}

/** `embedded` publishes to the embedded broker of this process or of the primary; null: use the operator's broker. */
export async function openChannels(runtime: Runtime, embedded: MqttPublisher | null): Promise<ChannelSet> {
  const { config, store, opened, observability } = runtime;
  const publisher = opened.adopt(embedded ?? (await connectPlatform(runtime)), (each) => each.close(), 'broker');
  const set = await createChannels(config, {
    store,
    egress: opened.adopt(createEgresses(config), closeEgresses),
    publisher,
    now: Date.now,
    observer: observability.channelsObserver,
  });
  opened.adopt(set, (each) => each.close(), 'channels');
  // Registered after the channels, so that their circuit breaker is closed before deliveries are woken.
  publisher.onConnected?.(() => runtime.followUp.hasten('mqtt'));
  publisher.onRoom?.(() => runtime.followUp.hasten('mqtt'));
  return { ...set, channels: callOffAt(opened.abortSends, set.channels) };
}

async function connectPlatform({ config, log }: Runtime): Promise<MqttPublisher> {
  const { platform } = config.mqtt;
  if (platform === null) throw new Error('There is no broker to connect to.');
  const { createPlatformBroker } = await import('../channels/mqtt/platform.ts');
  return createPlatformBroker(platform, { now: Date.now, onStateChange: log.brokerState });
}

/** Resolves when dispatches of a crashed process are queued, so that no notification accepted later overtakes them. */
export async function openRedelivery(runtime: Runtime, set: ChannelSet): Promise<void> {
  const { config, store, followUp, observability, log, opened } = runtime;
  // An SQLite store has only this server, which has just started: every dispatch in it was interrupted.
  if (config.databaseUrl === null) {
    const parts = { ...followUp, store, now: Date.now, onFailed: log.redeliveryFailed };
    await takeUpLeftBehind(parts, 'all').catch(log.redeliveryFailed);
    await store.targetQueues.expireLeases(Date.now()).catch(log.redeliveryFailed);
  }
  const { email } = set.managed;
  if (email !== null) followUp.recovery.probeWith('email', async () => (await email.check()) === null);
  const redelivery = startRedelivery({
    store,
    channels: observeChannels(set.channels, 'redelivery', observability.deliveryObserver),
    followUp,
    keepsReceipts: config.mqtt.platform === null,
    now: Date.now,
    random: Math.random,
    onFailed: log.redeliveryFailed,
    onGivenUp: log.deliveryDead,
  });
  opened.adopt(redelivery, (each) => each.close(), 'redelivery');
}
