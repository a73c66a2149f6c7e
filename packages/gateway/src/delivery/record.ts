// After a first attempt: what it came to is written down, and what may work later is kept before anybody is answered.
import type { DeliveryResult } from '../core/response.ts';
import { type Dispatch, type Notification, type Store, StoreUnavailable } from '../usecases/ports/index.ts';
import { type Settlement, type SettleParts, type Standing, settlementOf } from './dispatch.ts';
import type { Settlements } from './dispatch-writer.ts';
import type { WaitingRoom } from './retry-quota.ts';

/** True when something is durably kept to be tried again. */
export type Settle = (
  notification: Notification,
  dispatch: Dispatch,
  result: DeliveryResult,
  standing?: Pick<Standing, 'joined'>,
) => Promise<boolean>;

/**
 * For sends that go on: their targets wait in lanes that this process holds. null when the store did not take that; then
 * the dispatch stays open, and is to be settled when they have ended.
 */
export type Park = (
  notification: Notification,
  dispatch: Dispatch,
  result: DeliveryResult,
  standing: Standing,
) => Promise<Settlement['sending'] | null>;

export function createSettle(parts: {
  store: Pick<Store, 'dispatches'>;
  settlements: Settlements;
  room: WaitingRoom;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
}): { settle: Settle; park: Park } {
  const { settlements, room, now, random } = parts;
  const settleParts: SettleParts = { now, random, roomFor: (owner) => room.roomFor(owner) };

  async function prepare(...[notification, dispatch, result, standing]: Parameters<Park>) {
    const { id: notificationId, ownerId } = notification;
    const mayWorkLater = [result.push, result.email, result.mqtt].some((outcomes) =>
      outcomes.some(({ kind }) => kind === 'retry'),
    );
    if (mayWorkLater) await room.ask(ownerId).catch(ignoreUnavailable);
    const settlement = settlementOf(notification, dispatch, result, settleParts, standing);
    const waiting = settlement.failed.filter(({ state }) => state === 'waiting').length;
    room.take(ownerId, waiting + (settlement.sending?.deliveries.length ?? 0));
    return { settled: { ownerId, notificationId, ...settlement }, waiting };
  }

  return {
    async settle(notification, dispatch, result, standing = {}) {
      const { settled, waiting } = await prepare(notification, dispatch, result, standing);
      if (waiting > 0) return settlements.now(settled);
      settlements.later(settled);
      return (standing.joined?.size ?? 0) > 0;
    },

    async park(notification, dispatch, result, standing) {
      const { settled } = await prepare(notification, dispatch, result, standing);
      try {
        await parts.store.dispatches.settle([settled]);
        settlements.forget(notification.id);
        return settled.sending;
      } catch (error) {
        parts.onFailed(error);
        return null;
      }
    },
  };
}

/** Without a count nobody is turned away; the store that did not answer will hardly take more either. */
export function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}
