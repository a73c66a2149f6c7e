// Takes up what a crash cut off between storing and sending.
import type { Outcome } from '../core/answer.ts';
import { leaseMs, leaseReserveMs } from './lease.ts';
import type { ChannelName, Dispatch, Store } from './ports.ts';
import type { Settle } from './settle.ts';
import type { Settlements } from './settlements.ts';
import { findReadable, type Tell } from './tell.ts';

const batch = 50;

export interface LeftBehindParts {
  store: Pick<Store, 'claimDispatches' | 'findNotification' | 'recipientsOf'>;
  tell: Tell;
  settle: Settle;
  settlements: Pick<Settlements, 'expect' | 'isOpen' | 'later'>;
  now: () => number;
  onFailed: (error: unknown) => void;
}

/** Owner by owner side by side, but each owner's in the order of acceptance. */
export async function takeUpLeftBehind(parts: LeftBehindParts, signal: AbortSignal): Promise<void> {
  const { store, settlements, now } = parts;
  const leaseUntil = now() + leaseMs;
  const claimed = await store.claimDispatches(now(), leaseUntil, batch);
  // Clocks may jump: what this process is still busy with was not left by anybody.
  const left = claimed.filter(({ notificationId }) => !settlements.isOpen(notificationId));
  await Promise.all(
    [...Map.groupBy(left, ({ ownerId }) => ownerId).values()].map(async (ofOwner) => {
      for (const { ownerId, notificationId, dispatch } of ofOwner) {
        // What is not begun in time is claimed again when its lease has passed.
        if (signal.aborted || now() > leaseUntil - leaseReserveMs) return;
        await takeUp(parts, ownerId, notificationId, dispatch).catch(parts.onFailed);
      }
    }),
  );
}

async function takeUp(
  parts: LeftBehindParts,
  ownerId: string,
  notificationId: string,
  dispatch: Dispatch,
): Promise<void> {
  const { store, settlements, settle } = parts;
  settlements.expect(notificationId);
  const notification = await findReadable(parts, ownerId, notificationId);
  if (notification === null) {
    settlements.later({ ownerId, notificationId, results: { push: [], email: [], mqtt: [] }, failed: [] });
    return;
  }
  const recipients = await store.recipientsOf(ownerId);
  const tell = (channel: ChannelName, target: string): Promise<Outcome> =>
    parts.tell(notification, recipients, { channel, target, qos: dispatch.qos });
  const [push, email, mqtt] = await Promise.all([
    Promise.all(dispatch.push.map((id) => tell('push', id))),
    Promise.all(dispatch.email ? [tell('email', '')] : []),
    Promise.all(dispatch.mqtt.map((id) => tell('mqtt', id))),
  ]);
  await settle(notification, dispatch, { push, email, mqtt });
}
