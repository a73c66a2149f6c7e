// The Web Push subscription of this browser: its state, subscribing and unsubscribing.

import type { PushTargetEntry } from '@tocsin/contract/console';
import { pushTargetRoutes } from '@tocsin/contract/console/routes';
import { call } from '../api/client.ts';
import { text } from '../text/index.ts';
import { describeBrowser } from './describe-browser.ts';

export type PushState =
  | { kind: 'insecure' | 'unsupported' | 'home-screen' | 'blocked' | 'off' }
  /** `targetId` identifies this browser among the owner's push targets. */
  | { kind: 'on'; targetId: string };

/** The permission prompt was dismissed, or the push service did not accept the subscription. */
export class SubscribeFailed extends Error {
  override readonly name = 'SubscribeFailed';
}

const workerTimeoutMs = 15_000;

export async function pushState(): Promise<PushState> {
  const obstacle = pushObstacle();
  if (obstacle !== null) return { kind: obstacle };
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = (await registration?.pushManager.getSubscription()) ?? null;
  const target = subscription && (await findTarget(subscription));
  return target ? { kind: 'on', targetId: target.id } : { kind: 'off' };
}

/** Must be called from a click handler: browsers show the permission prompt only after a user gesture. */
export async function subscribe(webPushKey: string): Promise<PushState> {
  if ((await Notification.requestPermission()) !== 'granted') {
    if (Notification.permission === 'denied') return { kind: 'blocked' };
    throw new SubscribeFailed(text.push.denied);
  }
  const subscription = await createSubscription(webPushKey);
  const { id } = await call(pushTargetRoutes.addPushTarget, {
    body: { label: describeBrowser(navigator.userAgent), subscription: subscription.toJSON() },
  });
  return { kind: 'on', targetId: id };
}

export async function unsubscribe(targetId: string): Promise<PushState> {
  await call(pushTargetRoutes.deletePushTarget, { params: { id: targetId } });
  const registration = await navigator.serviceWorker.getRegistration();
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  return { kind: 'off' };
}

/** Why this page cannot use push; null if it can. */
function pushObstacle(): Exclude<PushState['kind'], 'on' | 'off'> | null {
  if (!isSecureContext) return 'insecure';
  if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) {
    // Safari on iOS supports push only in apps added to the Home Screen. An iPad reports itself as a Mac with a touch screen.
    const isApple = /iPhone|iPad|Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1;
    return isApple ? 'home-screen' : 'unsupported';
  }
  return Notification.permission === 'denied' ? 'blocked' : null;
}

async function createSubscription(webPushKey: string): Promise<PushSubscription> {
  try {
    const { pushManager } = await readyWorker();
    // A subscription unknown to the console may be bound to the VAPID key of another installation.
    await (await pushManager.getSubscription())?.unsubscribe();
    return await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: fromBase64Url(webPushKey) });
  } catch (error) {
    throw new SubscribeFailed(text.push.failed, { cause: error });
  }
}

/** Adds a timeout, because `ready` never settles if the worker could not be installed. */
async function readyWorker(): Promise<ServiceWorkerRegistration> {
  const timeout = new Promise<never>((_resolve, reject) => {
    setTimeout(reject, workerTimeoutMs, new Error('There is no service worker.'));
  });
  return Promise.race([navigator.serviceWorker.ready, timeout]);
}

async function findTarget({ endpoint }: PushSubscription): Promise<PushTargetEntry | undefined> {
  const digest = toBase64Url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint)));
  const { pushTargets } = await call(pushTargetRoutes.listPushTargets);
  return pushTargets.find(({ endpointDigest, disabledAt }) => endpointDigest === digest && disabledAt === null);
}

function toBase64Url(bytes: ArrayBuffer): string {
  const encoded = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return encoded.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromBase64Url(encoded: string): Uint8Array<ArrayBuffer> {
  const binary = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
