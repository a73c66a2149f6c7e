// Push messages into the real service worker, and the notifications that it shows.

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

interface Line {
  session: CDPSession;
  registrationId: string;
  worker: Worker;
}
/** Kept as long as the page: what is still being delivered when a session ends is lost. */
const lines = new WeakMap<Page, Promise<Line>>();

/** As the push service of the browser would, through the debugging protocol. Resolves when something has been shown. */
export async function pushTo(page: Page, text: string): Promise<void> {
  const { origin } = new URL(page.url());
  const line = lines.get(page) ?? openLine(page, origin);
  lines.set(page, line);
  const { session, registrationId, worker } = await line;
  const before = await worker.evaluate(countShown);
  await session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: text });
  const ask = (): Promise<number> => worker.evaluate(countShown);
  await eventually('the worker shows something', 5000, ask, (count) => count > before);
}

async function openLine(page: Page, origin: string): Promise<Line> {
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

/** Chromium forgets notifications that are asked for at the very moment at which they are being shown, so we wait. */
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

/** What the browser says that it shows for this page, once there is something with that tag. */
export async function shownWith(page: Page, tag: string): Promise<Shown> {
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

/** Clicks on it, as far as that is possible where no system shows it: the event goes to the worker. */
export async function click(page: Page, tag: string): Promise<void> {
  const [worker] = page.context().serviceWorkers();
  await worker?.evaluate(async (wanted) => {
    const { registration } = self as unknown as { registration: ServiceWorkerRegistration };
    const [notification] = await registration.getNotifications({ tag: wanted });
    const event = new Event('notificationclick');
    Object.assign(event, { notification, waitUntil: (work: Promise<unknown>) => work.catch(() => undefined) });
    dispatchEvent(event);
  }, tag);
}

/** The service worker is in charge of the page. */
export async function controlled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (navigator.serviceWorker.controller !== null) return;
    await new Promise((resolve) =>
      navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true }),
    );
  });
}
