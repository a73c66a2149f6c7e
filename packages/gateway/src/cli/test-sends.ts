// Test sends from the command line: one visible notification over one channel, and its outcome.
import { randomUUID } from 'node:crypto';
import type { ChannelModule } from '../channels/module.ts';
import { mqttSettingsOf } from '../channels/mqtt/index.ts';
import type { MqttPublisher } from '../channels/mqtt/publisher.ts';
import { type ChannelSet, openChannels } from '../channels/registry.ts';
import type { Config } from '../config/server.ts';
import type { ChannelTarget } from '../core/channel.ts';
import {
  isAccepted,
  isUnreachable,
  kindOf,
  type NotSent,
  type Outcome,
  rejected,
  wasAttempted,
} from '../core/outcome.ts';
import { Problem } from '../core/problem.ts';
import { testContent } from '../core/test-content.ts';
import { createUuidV7Source } from '../core/uuid-v7.ts';
import { sendTo } from '../delivery/deliver.ts';
import type { Store } from '../usecases/ports/index.ts';
import type { Output } from './command.ts';

export interface TestSend {
  channel: ChannelModule;
  ownerId: string;
  target: ChannelTarget;
  success: string;
}

/** Sends from this process, and stores nothing. */
export function sendTest(
  config: Config,
  store: Store,
  { channel, ownerId, target, success }: TestSend,
): Promise<Output> {
  return withChannels(config, store, async ({ opened }) => {
    const open = opened.get(channel.name);
    if (open === undefined) throw new Problem(`${channel.notConfigured}.`);
    const id = createUuidV7Source(Date.now, randomUUID)();
    const notification = { id, ownerId, createdAt: Date.now(), content: testContent };
    const [outcome] = await sendTo(open, notification, [target], { qos: 1, customBroker: null });
    return toOutput(outcome as Outcome, success);
  });
}

function toOutput(outcome: Outcome, success: string): Output {
  if (isAccepted(outcome)) return { json: { kind: kindOf(outcome) }, text: success };
  return { json: failureJson(outcome), text: `Not sent: ${outcome.error}`, exitCode: 1 };
}

/** Scripts read these fields, so that they stay the same when `Outcome` changes. */
function failureJson(outcome: NotSent) {
  const { kind, error } = outcome;
  return {
    kind,
    ...(kind !== 'gone' && { reason: outcome.reason }),
    error,
    ...(kind === 'retry' && outcome.retryAfterMs !== undefined && { retryAfterMs: outcome.retryAfterMs }),
    ...(isUnreachable(outcome) && { isUnreachable: true }),
    ...(!wasAttempted(outcome) && { wasAsked: false }),
  };
}

/** The channels of this configuration, without the embedded broker, which is part of the server. */
export async function withChannels<T>(config: Config, store: Store, use: (set: ChannelSet) => Promise<T>): Promise<T> {
  await using opened = new AsyncDisposableStack();
  const publisher = opened.adopt(await openPublisher(config), (each) => each.close());
  const set = await openChannels(config.channels, {
    ...{ store, publisher },
    allowedNetworks: config.customBrokerAllow,
    retentionDays: config.retentionDays,
    now: Date.now,
  });
  opened.adopt(set, (each) => each.close());
  return await use(set);
}

async function openPublisher({ channels }: Config): Promise<MqttPublisher> {
  const { platform } = mqttSettingsOf(channels);
  if (platform === null) return noBroker;
  const { createPlatformBroker } = await import('../channels/mqtt/platform.ts');
  return createPlatformBroker(platform, { now: Date.now });
}

const noBroker: MqttPublisher = {
  publish: async () => rejected('not_configured', 'The embedded broker runs in the server'),
  check: async () => null,
  close: async () => undefined,
};
