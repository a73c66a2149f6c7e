// Records the result of a first attempt. Deliveries that will be retried are durable before the caller gets a response.
import type { ChannelDefinitions } from '../core/channel.ts';
import type { DeliveryResult } from '../core/response.ts';
import { type Dispatch, type Notification, type Store, StoreUnavailable } from '../usecases/ports/index.ts';
import { type Settlement, type SettlementDeps, settlementOf, type TargetStates } from './dispatch.ts';
import type { DispatchWriter } from './dispatch-writer.ts';
import type { RetryQuota } from './retry-quota.ts';

/** True when a retry is durably scheduled. */
export type RecordResult = (
  notification: Notification,
  dispatch: Dispatch,
  result: DeliveryResult,
  states?: Pick<TargetStates, 'joined'>,
) => Promise<boolean>;

/**
 * For sends that outlive the response: their deliveries wait in queues that this process holds. null when the store did
 * not accept that; then the dispatch stays unsettled until the sends have ended.
 */
export type Park = (
  notification: Notification,
  dispatch: Dispatch,
  result: DeliveryResult,
  states: TargetStates,
) => Promise<Settlement['sending'] | null>;

export function createRecorder(deps: {
  definitions: ChannelDefinitions;
  store: Pick<Store, 'dispatches'>;
  writer: DispatchWriter;
  quota: RetryQuota;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
}): { record: RecordResult; park: Park } {
  const { definitions, writer, quota, now, random } = deps;
  const settlementDeps: SettlementDeps = {
    ...{ definitions, now, random },
    remainingRetries: (ownerId) => quota.remaining(ownerId),
  };

  async function prepare(...[notification, dispatch, result, states]: Parameters<Park>) {
    const { id: notificationId, ownerId } = notification;
    const hasRetries = Object.values(result).some((outcomes) => outcomes.some(({ kind }) => kind === 'retry'));
    if (hasRetries) await quota.refresh(ownerId).catch(ignoreUnavailable);
    const settlement = settlementOf(notification, dispatch, result, settlementDeps, states);
    const waiting = settlement.failed.filter(({ state }) => state === 'waiting').length;
    quota.reserve(ownerId, waiting + (settlement.sending?.deliveries.length ?? 0));
    return { settled: { ownerId, notificationId, ...settlement }, waiting };
  }

  return {
    async record(notification, dispatch, result, states = {}) {
      const { settled, waiting } = await prepare(notification, dispatch, result, states);
      if (waiting > 0) return writer.write(settled);
      writer.enqueue(settled);
      return (states.joined?.size ?? 0) > 0;
    },

    async park(notification, dispatch, result, states) {
      const { settled } = await prepare(notification, dispatch, result, states);
      try {
        await deps.store.dispatches.settle([settled]);
        writer.untrack(notification.id);
        return settled.sending;
      } catch (error) {
        deps.onFailed(error);
        return null;
      }
    },
  };
}

/** Without a count the quota does not apply; a store that failed to count will hardly accept more deliveries either. */
export function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}
