// Warnings for installations that are older than a stricter default, logged at start and reported by doctor.

import { channels } from '../channels/registry.ts';
import type { Config } from './server.ts';

export function legacyWarnings(config: Pick<Config, 'channels' | 'publicAddresses'>, isLegacy: boolean): string[] {
  if (!isLegacy) return [];
  const host = hostWarning(config.publicAddresses, isLegacy);
  const ofChannels = channels.flatMap((channel) => {
    const settings = config.channels.get(channel.name) ?? null;
    return settings === null ? [] : (channel.legacyWarnings?.(settings) ?? []);
  });
  return [...ofChannels, ...(host === null ? [] : [host])];
}

export function hostWarning({ consoleHosts }: Config['publicAddresses'], isLegacy: boolean): string | null {
  if (!isLegacy || consoleHosts !== null) return null;
  return (
    'The console accepts any host name, so a web page can read its metrics by DNS rebinding. Set ' +
    'TOCSIN_CONSOLE_HOSTS to the names that people and proxies use, separated by commas, or to * to keep it'
  );
}
