// The service worker: serves the app offline and handles push.
import { openNotification, resubscribe, showPush } from './push-events.ts';
import { cacheShell, deleteOldShells, responseTo } from './shell.ts';
import { worker } from './worker.ts';

interface SubscriptionChange extends ExtendableEvent {
  oldSubscription: PushSubscription | null;
  newSubscription: PushSubscription | null;
}

// A new version activates immediately. Open pages keep running, and the next page load gets the new version, because pages
// come from the network first.
worker.addEventListener('install', (event) => event.waitUntil(cacheShell().then(() => worker.skipWaiting())));
worker.addEventListener('activate', (event) => event.waitUntil(deleteOldShells().then(() => worker.clients.claim())));

worker.addEventListener('fetch', (event) => {
  const response = responseTo(event.request);
  if (response !== null) event.respondWith(response);
});

worker.addEventListener('push', (event) => event.waitUntil(showPush(event.data?.text())));
worker.addEventListener('notificationclick', (event) => event.waitUntil(openNotification(event.notification)));
worker.addEventListener('pushsubscriptionchange', (event) => {
  const { oldSubscription, newSubscription } = event as SubscriptionChange;
  (event as SubscriptionChange).waitUntil(resubscribe({ old: oldSubscription, new: newSubscription }));
});
