// Rings: shows what was pushed, opens what was clicked, and keeps the subscription alive.
import type { NewWebPushTarget } from '@tocsin/contract/console';
import { deviceName } from '../push/device-name.ts';
import { deviceSettings } from '../push/device-settings.ts';
import type { OpenRequest } from '../push/open-request.ts';
import { push } from '../text/en/push.ts';
import { toShown } from './push-message.ts';
import { worker } from './worker.ts';

export async function show(text: string | undefined): Promise<void> {
  const { title, options } = toShown(text, await deviceSettings());
  await worker.registration.showNotification(title, options);
}

/** A window that is open goes there without loading anew. */
export async function openFrom(notification: Notification): Promise<void> {
  notification.close();
  const id = (notification.data as { id?: unknown } | null)?.id;
  const path = typeof id === 'string' ? `/inbox/${encodeURIComponent(id)}` : '/';
  const windows = await worker.clients.matchAll({ type: 'window' });
  const window = windows.find(({ focused }) => focused) ?? windows[0];
  if (window === undefined) {
    await worker.clients.openWindow(path);
    return;
  }
  const request: OpenRequest = { kind: 'open', path };
  window.postMessage(request);
  await window.focus();
}

/** The push service gave the subscription another address, or ended it. */
export async function resubscribe(change: {
  old: PushSubscription | null;
  new: PushSubscription | null;
}): Promise<void> {
  const key = change.old?.options.applicationServerKey;
  const subscription =
    change.new ??
    (key
      ? await worker.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
      : null);
  if (subscription === null) return;
  const { browser, system } = deviceName(navigator.userAgent);
  const target: NewWebPushTarget = {
    label: push.deviceName(browser, system),
    subscription: subscription.toJSON() as NewWebPushTarget['subscription'],
  };
  // Whoever is not signed in any more is told by the settings that this device does not ring.
  await fetch('/api/push-targets', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(target),
  });
}
