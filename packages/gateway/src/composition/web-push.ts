import { pushSettingsOf } from '../channels/push/index.ts';
import { tokenProblem } from '../channels/push/token.ts';
import { createVapidKeys, parseVapidKeys } from '../channels/push/vapid.ts';
import type { Runtime } from './runtime.ts';

/** What browsers need to subscribe to Web Push, and what is wrong with a subscription of theirs; null: nothing. */
export async function openWebPush({ config, store }: Pick<Runtime, 'config' | 'store'>): Promise<{
  publicKey: string;
  problemOf: (subscription: string) => string | null;
}> {
  const { publicKey } = parseVapidKeys(await store.secrets.obtain('webpush_vapid', createVapidKeys));
  const { webPushHosts } = pushSettingsOf(config.channels);
  return { publicKey, problemOf: (subscription) => tokenProblem('webpush', subscription, webPushHosts) };
}
