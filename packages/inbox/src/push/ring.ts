// Whether this browser rings, and turning it on and off.
import type { NewWebPushTarget, PushTargetEntry } from '@tocsin/contract/console';
import { get, post, remove } from '../api/client.ts';
import { text } from '../text/index.ts';
import { deviceName } from './device-name.ts';

export type RingState =
  | { kind: 'insecure' | 'unsupported' | 'home-screen' | 'blocked' | 'off' }
  /** `targetId` is that of this browser among the owner's push targets. */
  | { kind: 'on'; targetId: string };

/** Nobody answered the question, or the push service did not take this browser. */
export class RingFailed extends Error {
  override readonly name = 'RingFailed';
}

const workerPatienceMs = 15_000;

export async function ringState(): Promise<RingState> {
  const obstacle = obstacleHere();
  if (obstacle !== null) return { kind: obstacle };
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = (await registration?.pushManager.getSubscription()) ?? null;
  const target = subscription && (await targetOf(subscription));
  return target ? { kind: 'on', targetId: target.id } : { kind: 'off' };
}

/** To be called by a click: browsers ask their question only then. */
export async function turnOn(webPushKey: string): Promise<RingState> {
  if ((await Notification.requestPermission()) !== 'granted') {
    if (Notification.permission === 'denied') return { kind: 'blocked' };
    throw new RingFailed(text.push.denied);
  }
  const subscription = await subscribe(webPushKey);
  const { browser, system } = deviceName(navigator.userAgent);
  const { id } = await post<PushTargetEntry>('/push-targets', {
    label: text.push.deviceName(browser, system),
    subscription: subscription.toJSON(),
  } as NewWebPushTarget);
  return { kind: 'on', targetId: id };
}

export async function turnOff(targetId: string): Promise<RingState> {
  await remove(`/push-targets/${encodeURIComponent(targetId)}`);
  const registration = await navigator.serviceWorker.getRegistration();
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  return { kind: 'off' };
}

function obstacleHere(): Exclude<RingState['kind'], 'on' | 'off'> | null {
  if (!isSecureContext) return 'insecure';
  if (!('serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window)) {
    // Safari there has them only in what was added to the Home Screen. An iPad says that it is a Mac, with a touch screen.
    const isApple = /iPhone|iPad|Macintosh/.test(navigator.userAgent) && navigator.maxTouchPoints > 1;
    return isApple ? 'home-screen' : 'unsupported';
  }
  return Notification.permission === 'denied' ? 'blocked' : null;
}

async function subscribe(webPushKey: string): Promise<PushSubscription> {
  try {
    const { pushManager } = await readyWorker();
    // One that the console does not know may be bound to the key of another installation.
    await (await pushManager.getSubscription())?.unsubscribe();
    return await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: fromBase64Url(webPushKey) });
  } catch (error) {
    throw new RingFailed(text.push.failed, { cause: error });
  }
}

/** `ready` waits for ever where the worker could not be put in place. */
async function readyWorker(): Promise<ServiceWorkerRegistration> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(reject, workerPatienceMs, new Error('There is no service worker.'));
  });
  return Promise.race([navigator.serviceWorker.ready, late]);
}

async function targetOf({ endpoint }: PushSubscription): Promise<PushTargetEntry | undefined> {
  const digest = toBase64Url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint)));
  const { pushTargets } = await get<{ pushTargets: PushTargetEntry[] }>('/push-targets');
  return pushTargets.find(({ endpointDigest, disabledAt }) => endpointDigest === digest && disabledAt === null);
}

function toBase64Url(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
