// Push settings of this device, stored in this browser only. The service worker reads them for every push message.
import { loadValue, saveValue } from '../offline/key-value-store.ts';

export interface DeviceSettings {
  /** Notifications of severity info, and promotions without a severity, are shown without a sound. */
  isInfoSilent: boolean;
}

const key = 'device-settings';

export async function loadDeviceSettings(): Promise<DeviceSettings> {
  const stored = await loadValue<DeviceSettings>(key).catch(() => undefined);
  return stored ?? { isInfoSilent: false };
}

export async function saveDeviceSettings(settings: DeviceSettings): Promise<void> {
  await saveValue(key, settings);
}
