// After a first attempt: what it came to is written down, and what may work later is kept before anybody is answered.
import type { DeliveryResult } from '../core/answer.ts';
import { settlementOf } from './dispatch.ts';
import { type Dispatch, type Notification, StoreUnavailable } from './ports.ts';
import type { Settlements } from './settlements.ts';
import type { WaitingRoom } from './waiting-room.ts';

/** True when something is durably kept to be tried again. */
export type Settle = (notification: Notification, dispatch: Dispatch, result: DeliveryResult) => Promise<boolean>;

export function createSettle(parts: {
  settlements: Settlements;
  room: WaitingRoom;
  now: () => number;
  random: () => number;
}): Settle {
  const { settlements, room, now, random } = parts;
  return async (notification, dispatch, result) => {
    const { id: notificationId, ownerId } = notification;
    const mayWorkLater = [result.push, result.email, result.mqtt].some((outcomes) =>
      outcomes.some(({ kind }) => kind === 'retry'),
    );
    if (mayWorkLater) await room.ask(ownerId).catch(ignoreUnavailable);
    const settlement = settlementOf(notification, dispatch, result, {
      now,
      random,
      roomFor: (owner) => room.roomFor(owner),
    });
    const waiting = settlement.failed.filter(({ state }) => state === 'waiting').length;
    const settled = { ownerId, notificationId, ...settlement };
    if (waiting === 0) {
      settlements.later(settled);
      return false;
    }
    room.take(ownerId, waiting);
    return settlements.now(settled);
  };
}

/** Without a count nobody is turned away; the store that did not answer will hardly take more either. */
function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}
