// How this device rings; kept here alone. The service worker reads it when a message comes.
import { keep, kept } from '../offline/kept-values.ts';

export interface DeviceSettings {
  /** Notifications of severity info, and advertising, are shown without a sound. */
  isInfoSilent: boolean;
}

const name = 'device-settings';

export async function deviceSettings(): Promise<DeviceSettings> {
  const stored = await kept<DeviceSettings>(name).catch(() => undefined);
  return stored ?? { isInfoSilent: false };
}

export async function saveDeviceSettings(settings: DeviceSettings): Promise<void> {
  await keep(name, settings);
}
