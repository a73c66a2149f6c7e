// Shows push messages as notifications, opens clicked ones, and renews the subscription.

import type { NewWebPushTarget } from '@tocsin/contract/console';
import { urlOf } from '@tocsin/contract/console/route';
import { pushTargetRoutes } from '@tocsin/contract/console/routes';
import { loadBrowserSettings } from '../push/browser-settings.ts';
import { describeBrowser } from '../push/describe-browser.ts';
import type { OpenRequest } from '../push/open-request.ts';
import { toNotification } from './push-message.ts';
import { worker } from './worker.ts';

export async function showPush(text: string | undefined): Promise<void> {
  const { title, options } = toNotification(text, await loadBrowserSettings());
  await worker.registration.showNotification(title, options);
}

/** Navigates an open window without reloading it; opens a new one if there is none. */
export async function openNotification(notification: Notification): Promise<void> {
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

/** Called when the push service replaced or expired the subscription. */
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
  const target: NewWebPushTarget = {
    label: describeBrowser(navigator.userAgent),
    subscription: subscription.toJSON() as NewWebPushTarget['subscription'],
  };
  // If the owner is signed out, this fails; after signing in, the settings show push as off in this browser.
  await fetch(urlOf(pushTargetRoutes.addPushTarget), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(target),
  });
}
