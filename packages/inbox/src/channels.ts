// How the app presents the channels it knows. Others are shown with the label that the service gives them.
import type { ServiceInfo } from '@tocsin/contract/console';

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

export function presentChannel(name: string, channels: ServiceInfo['channels'] = []): ChannelPresentation {
  const label = channels.find((channel) => channel.name === name)?.label ?? name;
  return known[name] ?? { label, quietHoursLabel: label, icon: 'send' };
}
