// Delivery status of a notification by target: the result of the first attempt, and of retries.
import type { DeliveryEntry } from '@tocsin/contract/console';
import type { ChannelDefinitions, DeliveryProgress } from '../../core/channel.ts';
import { channelsOf, targetIdsOf } from '../../core/dispatch.ts';
import type { OutcomeKind } from '../../core/outcome.ts';
import { targetReader } from '../../delivery/target-reader.ts';
import type { ChannelName, Delivery, Dispatch, DispatchResults, Owner, Store } from '../../usecases/ports/index.ts';

/** Above the number of targets that an owner can have. */
export const everyDelivery = 10_000;

/** Attempts that were not made and deliveries that an operator dropped leave no row. */
const notAttempted = 'Not attempted: the channel was not configured at that time, or an operator dropped the delivery';
const dropped = 'Not reached, then dropped by an operator';

/** What a channel knows about its targets. */
interface ChannelFacts {
  names: ReadonlyMap<string, string>;
  progress: ReadonlyMap<string, DeliveryProgress>;
}

export async function describeDeliveries(
  definitions: ChannelDefinitions,
  store: Store,
  owner: Owner,
  notificationId: string,
): Promise<DeliveryEntry[]> {
  const { id: ownerId } = owner;
  // The dispatch is read first: a result that is recorded between the two reads is then seen by the second.
  const found = await store.dispatches.find(ownerId, notificationId);
  if (found === null) return [];
  const [deliveries, facts] = await Promise.all([
    store.deliveries.list({ ownerId, notificationId, limit: everyDelivery }),
    readFacts(definitions, store, owner, notificationId, found.dispatch),
  ]);
  return entriesOf(found, deliveries, facts);
}

async function readFacts(
  definitions: ChannelDefinitions,
  store: Store,
  owner: Owner,
  notificationId: string,
  dispatch: Dispatch,
): Promise<ReadonlyMap<ChannelName, ChannelFacts>> {
  const read = targetReader(store, owner);
  const used = definitions.filter(({ name }) => targetIdsOf(dispatch, name).length > 0);
  const facts = used.map(async (channel): Promise<[ChannelName, ChannelFacts]> => {
    const [names, progress = new Map()] = await Promise.all([
      channel.describe(read),
      channel.progress?.(read, notificationId, targetIdsOf(dispatch, channel.name)),
    ]);
    return [channel.name, { names, progress }];
  });
  return new Map(await Promise.all(facts));
}

function entriesOf(
  { dispatch, results }: { dispatch: Dispatch; results: DispatchResults | null },
  deliveries: readonly Delivery[],
  facts: ReadonlyMap<ChannelName, ChannelFacts>,
): DeliveryEntry[] {
  return channelsOf(dispatch).flatMap((channel) =>
    targetIdsOf(dispatch, channel).map((target, index) => {
      const known = facts.get(channel);
      const delivery = deliveries.find((each) => each.channel === channel && each.target === target);
      const entry = {
        ...{ channel, target, name: known?.names.get(target) ?? null },
        ...progressOf(results?.[channel]?.[index] ?? null, delivery),
      };
      return withReceipt(entry, known?.progress.get(target));
    }),
  );
}

/** Some channels also know whether the target has received the message. */
function withReceipt(entry: DeliveryEntry, progress: DeliveryProgress | undefined): DeliveryEntry {
  if (progress?.state === 'delivered') {
    return { ...entry, state: 'delivered', endedAt: progress.deliveredAt, nextAt: null, error: null };
  }
  return progress?.state === 'queued' && entry.state === 'sent' ? { ...entry, state: 'queued', endedAt: null } : entry;
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
