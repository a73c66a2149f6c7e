// The service worker: the app offline, and push.
import { openFrom, resubscribe, show } from './push.ts';
import { answer, dropOldShells, keepShell } from './shell.ts';
import { worker } from './worker.ts';

interface SubscriptionChange extends ExtendableEvent {
  oldSubscription: PushSubscription | null;
  newSubscription: PushSubscription | null;
}

// A new version begins at once. Pages come from the network first, so those that are open go on undisturbed, and the next
// one that is loaded is new.
worker.addEventListener('install', (event) => event.waitUntil(keepShell().then(() => worker.skipWaiting())));
worker.addEventListener('activate', (event) => event.waitUntil(dropOldShells().then(() => worker.clients.claim())));

worker.addEventListener('fetch', (event) => {
  const response = answer(event.request);
  if (response !== null) event.respondWith(response);
});

worker.addEventListener('push', (event) => event.waitUntil(show(event.data?.text())));
worker.addEventListener('notificationclick', (event) => event.waitUntil(openFrom(event.notification)));
worker.addEventListener('pushsubscriptionchange', (event) => {
  const { oldSubscription, newSubscription } = event as SubscriptionChange;
  (event as SubscriptionChange).waitUntil(resubscribe({ old: oldSubscription, new: newSubscription }));
});
