import type { Channels } from '../gateway/ports.ts';
import { createNotConfigured } from './not-configured.ts';

/** The one list of channels. */
export function createChannels(): Channels {
  return {
    push: createNotConfigured('No push provider is configured'),
    email: createNotConfigured('No mail server is configured'),
    mqtt: createNotConfigured('No MQTT broker is configured'),
  };
}
