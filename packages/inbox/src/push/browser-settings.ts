// Push settings of this browser, stored only in it. The service worker reads them for every push message.
import { loadValue, saveValue } from '../offline/key-value-store.ts';

export interface BrowserSettings {
  /** Notifications of severity info, and promotions without a severity, are shown without a sound. */
  isInfoSilent: boolean;
}

/** Browsers already have settings under this name. */
const key = 'device-settings';

export async function loadBrowserSettings(): Promise<BrowserSettings> {
  const stored = await loadValue<BrowserSettings>(key).catch(() => undefined);
  return stored ?? { isInfoSilent: false };
}

export async function saveBrowserSettings(settings: BrowserSettings): Promise<void> {
  await saveValue(key, settings);
}
