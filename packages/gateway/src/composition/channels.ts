// The ways out of one process: its broker, its channels, and the redelivery of what they did not take.
import { createEmbeddedBroker, type EmbeddedBroker } from '../channels/mqtt/embedded/index.ts';
import type { MqttPublisher } from '../channels/mqtt/publisher.ts';
import { type ChannelSet, closeEgresses, createChannels, createEgresses } from '../channels/registry.ts';
import { callOffAt } from '../delivery/abort-pending-sends.ts';
import { observeChannels } from '../delivery/observe.ts';
import { startRedelivery } from '../delivery/redeliver.ts';
import { takeUpLeftBehind } from '../delivery/resume-orphans.ts';
import { clientAddress } from '../http/client-address.ts';
import { createIsConsolePage } from './console.ts';
import type { Foundation } from './runtime.ts';

/** null where the operator has a broker. */
export async function createOwnBroker(foundation: Foundation): Promise<EmbeddedBroker | null> {
  const { config, store, observability } = foundation;
  if (config.mqtt.platform !== null) return null;
  return createEmbeddedBroker({
    store,
    topicPrefix: config.mqtt.topicPrefix,
    queueLimit: config.mqtt.queueLimit,
    now: Date.now,
    onEvent: observability.onBrokerEvent,
    addressOf: (request) => clientAddress(request, config.trustedProxies),
    isOwnPage: await createIsConsolePage(foundation),
  });
}

/** Over the broker inside, if this process has one or knows who does; otherwise over the operator's. */
export async function openChannels(foundation: Foundation, inside: MqttPublisher | null): Promise<ChannelSet> {
  const { config, store, opened, observability } = foundation;
  const publisher = opened.adopt(inside ?? (await connectPlatform(foundation)), (each) => each.close(), 'broker');
  const set = await createChannels(config, {
    store,
    egress: opened.adopt(createEgresses(config), closeEgresses),
    publisher,
    now: Date.now,
    observer: observability.channelsObserver,
  });
  opened.adopt(set, (each) => each.close(), 'channels');
  // After the channels: by then their breaker is closed.
  publisher.onConnected?.(() => foundation.followUp.hasten('mqtt'));
  publisher.onRoom?.(() => foundation.followUp.hasten('mqtt'));
  return { ...set, channels: callOffAt(opened.lastCall, set.channels) };
}

async function connectPlatform({ config, log }: Foundation): Promise<MqttPublisher> {
  const { platform } = config.mqtt;
  if (platform === null) throw new Error('There is no broker to connect to.');
  const { createPlatformBroker } = await import('../channels/mqtt/platform.ts');
  return createPlatformBroker(platform, { now: Date.now, onStateChange: log.brokerState });
}

/** Resolves when what a crash left in the queue is there, so that nothing that is accepted from now on overtakes it. */
export async function openRedelivery(foundation: Foundation, set: ChannelSet): Promise<void> {
  const { config, store, followUp, observability, log, opened } = foundation;
  // An SQLite store has one server, which has just started: whatever is in its dispatches was interrupted.
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
    onGivenUp: log.givenUp,
  });
  opened.adopt(redelivery, (each) => each.close(), 'redelivery');
}
