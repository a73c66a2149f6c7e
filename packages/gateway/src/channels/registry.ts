// The one list of channels.
import type { Channel, ChannelSettings, Channels, ChannelTarget, OpenChannel } from '../core/channel.ts';
import { rejected } from '../core/outcome.ts';
import { emailChannel } from './email/index.ts';
import type { ChannelModule, ChannelModules, ChannelTools } from './module.ts';
import { mqttChannel } from './mqtt/index.ts';
import { pushChannel } from './push/index.ts';

export const channels: ChannelModules = [pushChannel, emailChannel, mqttChannel];

/** The channels of one process. */
export interface ChannelSet {
  /** All channels; those that are not configured reject everything. */
  channels: Channels;
  /** The configured ones. */
  opened: ReadonlyMap<string, OpenChannel>;
  /** null: not configured. */
  get<Target extends ChannelTarget, Settings, Opened extends OpenChannel<Target>>(
    channel: ChannelModule<Target, Settings, Opened>,
  ): Opened | null;
  close(): Promise<void>;
}

export async function openChannels(
  settings: ChannelSettings,
  tools: ChannelTools,
  modules: ChannelModules = channels,
): Promise<ChannelSet> {
  const opened = new Map<string, OpenChannel>();
  const close = async (): Promise<void> => {
    await Promise.all([...opened.values()].map((channel) => channel.close()));
  };
  try {
    for (const module of modules) {
      const own = settings.get(module.name) ?? null;
      if (own !== null) opened.set(module.name, await openGuarded(module, own, tools));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    channels: new Map(
      modules.map((module) => [module.name, opened.get(module.name) ?? createNotConfigured(module.notConfigured)]),
    ),
    opened,
    get: <Opened>({ name }: { name: string }) => (opened.get(name) ?? null) as Opened | null,
    close,
  };
}

async function openGuarded(module: ChannelModule, settings: unknown, tools: ChannelTools): Promise<OpenChannel> {
  const channel = await module.open(settings, tools);
  if (module.guard === 'own') return channel;
  const { guard } = await import('../delivery/guard.ts');
  const { name, provider } = module;
  const { timeoutMs, maxConcurrent } = module.guard;
  const unguarded = { send: channel.send.bind(channel) };
  // Into the channel itself, since a copy of it would lose the methods of a class.
  return Object.assign(
    channel,
    guard(unguarded, {
      ...{ provider, maxConcurrent, timeoutMs: timeoutMs(settings) },
      onStateChange: (...change) => tools.onBreakerState?.(name, ...change),
    }),
  );
}

/** Rejects everything and says why: nothing is skipped silently. */
export function createNotConfigured(error: string): Channel {
  return { send: async (_notification, targets) => targets.map(() => rejected('not_configured', error)) };
}
