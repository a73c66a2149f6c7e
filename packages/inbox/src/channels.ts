// How the app presents the channels it knows. Others are shown with the label that the service gives them.
import type { ServiceInfo, SessionInfo } from '@tocsin/contract/console';

type IconName = 'device' | 'email' | 'mqtt' | 'send';

import { text } from './text/index.ts';

interface ChannelPresentation {
  label: string;
  /** Label of the switch for quiet hours. */
  quietHoursLabel: string;
  icon: IconName;
}

const known: Readonly<Record<string, ChannelPresentation>> = {
  push: { ...text.channels.push, icon: 'device' },
  email: { ...text.channels.email, icon: 'email' },
  mqtt: { ...text.channels.mqtt, icon: 'mqtt' },
};

const knownChannels = Object.entries(known).map(([name, { label }]) => ({ name, label }));

/** Adds the list of channels, which nodes of the previous version omit, to a session. */
export function withChannels(session: SessionInfo): SessionInfo {
  const { service } = session;
  return { ...session, service: { ...service, channels: service.channels ?? knownChannels } };
}

export function presentChannel(name: string, channels: ServiceInfo['channels'] = []): ChannelPresentation {
  const label = channels.find((channel) => channel.name === name)?.label ?? name;
  return known[name] ?? { label, quietHoursLabel: label, icon: 'send' };
}
