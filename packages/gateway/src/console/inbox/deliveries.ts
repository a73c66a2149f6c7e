// What became of a notification, target by target: how the first attempt ended, and what was tried since.
import type { DeliveryEntry } from '@tocsin/contract/console';
import type { OutcomeKind } from '../../core/outcome.ts';
import type {
  ChannelName,
  Delivery,
  Dispatch,
  DispatchResults,
  MqttProgress,
  Owner,
  Store,
} from '../../usecases/ports/index.ts';

/** More than an owner has targets. */
export const everyDelivery = 10_000;

const providerNames = { webpush: 'Web Push', fcm: 'FCM', apns: 'APNs' } as const;

/** Nothing is kept of an attempt that was never made, nor of what an operator dropped. */
const unasked = 'It was not tried: this channel was not set up at that time, or what waited was dropped by an operator';
const dropped = 'It was not reached, and then dropped by an operator';

type Names = Record<ChannelName, ReadonlyMap<string, string>>;

export async function describeDeliveries(store: Store, owner: Owner, notificationId: string): Promise<DeliveryEntry[]> {
  const { id: ownerId } = owner;
  // First how it began: what is settled between the two looks is then seen by the second.
  const found = await store.dispatches.find(ownerId, notificationId);
  if (found === null) return [];
  const [deliveries, names, queues] = await Promise.all([
    store.deliveries.list({ ownerId, notificationId, limit: everyDelivery }),
    namesToday(store, owner),
    store.mqttQueues.findProgress(ownerId, notificationId, found.dispatch.mqtt),
  ]);
  return entriesOf(found, deliveries, names).map((entry) =>
    entry.channel === 'mqtt' ? withQueue(entry, queues.get(entry.target)) : entry,
  );
}

/** What the embedded broker knows of a message goes beyond that it was published. */
function withQueue(entry: DeliveryEntry, progress: MqttProgress | undefined): DeliveryEntry {
  if (progress?.state === 'delivered') {
    return { ...entry, state: 'delivered', endedAt: progress.deliveredAt, nextAt: null, error: null };
  }
  return progress?.state === 'queued' && entry.state === 'sent' ? { ...entry, state: 'queued', endedAt: null } : entry;
}

async function namesToday(store: Store, { id, email }: Owner): Promise<Names> {
  const [devices, pushTargets] = await Promise.all([
    store.devices.list(id, passOver),
    store.pushTargets.list(id, passOver),
  ]);
  return {
    push: new Map(pushTargets.map(({ id, label, provider }) => [id, label ?? providerNames[provider]])),
    email: new Map(email === null ? [] : [['', email]]),
    mqtt: new Map(devices.map(({ id, name }) => [id, name])),
  };
}

function passOver(): void {
  // One that does not open has no name.
}

function entriesOf(
  { dispatch, results }: { dispatch: Dispatch; results: DispatchResults | null },
  deliveries: readonly Delivery[],
  names: Names,
): DeliveryEntry[] {
  const targets = { push: dispatch.push, email: dispatch.email ? [''] : [], mqtt: dispatch.mqtt };
  return (['push', 'email', 'mqtt'] as const).flatMap((channel) =>
    targets[channel].map((target, index) => ({
      channel,
      target,
      name: names[channel].get(target) ?? null,
      ...progressOf(
        results?.[channel][index] ?? null,
        deliveries.find((delivery) => delivery.channel === channel && delivery.target === target),
      ),
    })),
  );
}

type Progress = Pick<DeliveryEntry, 'state' | 'retries' | 'nextAt' | 'endedAt' | 'error'>;

/** `first`: how the first attempt ended; null: it is under way. */
function progressOf(first: OutcomeKind | null, delivery: Delivery | undefined): Progress {
  if (delivery !== undefined) {
    const { attempts: retries, nextAt, endedAt, error } = delivery;
    return { state: stateOf(first, delivery), retries, nextAt, endedAt, error };
  }
  const known = { retries: 0, nextAt: null, endedAt: null };
  switch (first) {
    case null:
      return { ...known, state: 'sending', error: null };
    case 'sent':
      return { ...known, state: 'sent', error: null };
    case 'retry':
      return { ...known, state: 'dead', error: dropped };
    case 'gone':
    case 'rejected':
      return { ...known, state: first, error: unasked };
  }
}

/** What ended with the first attempt ended as that did; what was tried again since speaks for itself. */
function stateOf(first: OutcomeKind | null, { state, createdAt, endedAt }: Delivery): DeliveryEntry['state'] {
  const isFirst = state === 'dead' && endedAt === createdAt;
  return isFirst && (first === 'gone' || first === 'rejected') ? first : state;
}
