// Delivery status of a notification by target: the result of the first attempt, and of retries.
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

/** Above the number of targets that an owner can have. */
export const everyDelivery = 10_000;

const providerNames = { webpush: 'Web Push', fcm: 'FCM', apns: 'APNs' } as const;

/** Attempts that were not made and deliveries that an operator dropped leave no row. */
const notAttempted = 'Not attempted: the channel was not configured at that time, or an operator dropped the delivery';
const dropped = 'Not reached, then dropped by an operator';

type Names = Record<ChannelName, ReadonlyMap<string, string>>;

export async function describeDeliveries(store: Store, owner: Owner, notificationId: string): Promise<DeliveryEntry[]> {
  const { id: ownerId } = owner;
  // The dispatch is read first: a result that is recorded between the two reads is then seen by the second.
  const found = await store.dispatches.find(ownerId, notificationId);
  if (found === null) return [];
  const [deliveries, names, queues] = await Promise.all([
    store.deliveries.list({ ownerId, notificationId, limit: everyDelivery }),
    currentNames(store, owner),
    store.mqttQueues.findProgress(ownerId, notificationId, found.dispatch.mqtt),
  ]);
  return entriesOf(found, deliveries, names).map((entry) =>
    entry.channel === 'mqtt' ? withQueue(entry, queues.get(entry.target)) : entry,
  );
}

/** The embedded broker also knows whether the device has received the message. */
function withQueue(entry: DeliveryEntry, progress: MqttProgress | undefined): DeliveryEntry {
  if (progress?.state === 'delivered') {
    return { ...entry, state: 'delivered', endedAt: progress.deliveredAt, nextAt: null, error: null };
  }
  return progress?.state === 'queued' && entry.state === 'sent' ? { ...entry, state: 'queued', endedAt: null } : entry;
}

async function currentNames(store: Store, { id, email }: Owner): Promise<Names> {
  const [devices, pushTargets] = await Promise.all([
    store.devices.list(id, skipDamaged),
    store.pushTargets.list(id, skipDamaged),
  ]);
  return {
    push: new Map(pushTargets.map(({ id, label, provider }) => [id, label ?? providerNames[provider]])),
    email: new Map(email === null ? [] : [['', email]]),
    mqtt: new Map(devices.map(({ id, name }) => [id, name])),
  };
}

function skipDamaged(): void {
  // A row that cannot be decrypted has no name.
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

/** `first` is the result of the first attempt; null: it is in flight. */
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
      return { ...known, state: first, error: notAttempted };
  }
}

/** A delivery that ended with the first attempt has the state of that attempt; otherwise the state of its retries. */
function stateOf(first: OutcomeKind | null, { state, createdAt, endedAt }: Delivery): DeliveryEntry['state'] {
  const isFirst = state === 'dead' && endedAt === createdAt;
  return isFirst && (first === 'gone' || first === 'rejected') ? first : state;
}
