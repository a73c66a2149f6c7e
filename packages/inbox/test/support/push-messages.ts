// Delivers push messages to the real service worker, and reads the notifications that it shows.
import { eventually } from '@tocsin/test-support/eventually.ts';
import type { CDPSession, Page, Worker } from 'playwright-core';

export interface Shown {
  title: string;
  body: string;
  tag: string;
  silent: boolean | null;
  requireInteraction: boolean;
  vibrate: number[];
  timestamp: number;
  icon: string;
  badge: string;
  data: { id: string | null };
}

interface WorkerConnection {
  session: CDPSession;
  registrationId: string;
  worker: Worker;
}
/** Kept as long as the page, because messages in flight are lost when a session ends. */
const connections = new WeakMap<Page, Promise<WorkerConnection>>();

/** Delivers a push message over the DevTools protocol. Resolves when a notification has been shown. */
export async function deliverPush(page: Page, text: string): Promise<void> {
  const { origin } = new URL(page.url());
  const connection = connections.get(page) ?? connectWorker(page, origin);
  connections.set(page, connection);
  const { session, registrationId, worker } = await connection;
  const before = await worker.evaluate(countShown);
  await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: text });
  const count = (): Promise<number> => worker.evaluate(countShown);
  await eventually('the worker shows a notification', 5000, count, (shown) => shown > before);
}

async function connectWorker(page: Page, origin: string): Promise<WorkerConnection> {
  const session = await page.context().newCDPSession(page);
  const registered = Promise.withResolvers<string>();
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    const ours = registrations.find(({ scopeURL }) => scopeURL === `${origin}/`);
    if (ours !== undefined) registered.resolve(ours.registrationId);
  });
  await session.send('ServiceWorker.enable');
  const [worker] = page.context().serviceWorkers();
  if (worker === undefined) throw new Error('There is no service worker.');
  await worker.evaluate(watchShown);
  return { session, registrationId: await registered.promise, worker };
}

/** Counts shown notifications: Chromium loses those that are queried while they are being shown, so the tests wait. */
function watchShown(): void {
  const { registration } = self as unknown as { registration: ServiceWorkerRegistration };
  const show = registration.showNotification.bind(registration);
  const counted = Object.assign(self, { shown: 0 });
  registration.showNotification = async (...args) => {
    await show(...args);
    counted.shown += 1;
  };
}

function countShown(): number {
  return (self as unknown as { shown: number }).shown;
}

/** Waits for a notification with that tag and returns it. */
export async function waitForNotification(page: Page, tag: string): Promise<Shown> {
  const ask = (): Promise<Shown[]> =>
    page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      return (await registration.getNotifications()).map((notification) => {
        // Members that TypeScript's library does not have.
        const {
          vibrate = [],
          timestamp,
          badge,
        } = notification as Notification & Pick<Shown, 'vibrate' | 'timestamp' | 'badge'>;
        const { title, body, tag, silent, requireInteraction, icon, data } = notification;
        return {
          title,
          body,
          tag,
          silent,
          requireInteraction,
          vibrate: [...vibrate],
          timestamp,
          icon,
          badge,
          data,
        };
      });
    });
  const all = await eventually(`a notification with the tag ${tag}`, 5000, ask, (each) =>
    each.some((n) => n.tag === tag),
  );
  return all.find((each) => each.tag === tag) as Shown;
}

/** Simulates a click by dispatching the event in the worker, since a headless browser displays nothing to click on. */
export async function clickNotification(page: Page, tag: string): Promise<void> {
  const [worker] = page.context().serviceWorkers();
  await worker?.evaluate(async (wanted) => {
    const { registration } = self as unknown as { registration: ServiceWorkerRegistration };
    const [notification] = await registration.getNotifications({ tag: wanted });
    const event = new Event('notificationclick');
    Object.assign(event, { notification, waitUntil: (work: Promise<unknown>) => work.catch(() => undefined) });
    dispatchEvent(event);
  }, tag);
}

/** Waits until the service worker controls the page. */
export async function waitForController(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (navigator.serviceWorker.controller !== null) return;
    await new Promise((resolve) =>
      navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true }),
    );
  });
}
