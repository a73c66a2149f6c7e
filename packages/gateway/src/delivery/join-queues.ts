// Before the first attempt: a notification to a target with a queue is put behind what waits there.

import {
  type Dispatch,
  type Notification,
  type Store,
  StoreUnavailable,
  type TargetQueueName,
} from '../usecases/ports/index.ts';
import { joiningDelivery, queuesOf, targetName } from './dispatch.ts';
import type { QueueAnswer, TargetQueues } from './queued-targets.ts';
import { ignoreUnavailable } from './record.ts';
import type { WaitingRoom } from './retry-quota.ts';

export interface JoinParts {
  store: Pick<Store, 'targetQueues'>;
  queues: TargetQueues;
  room: WaitingRoom;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
}

export interface QueuedTargets {
  /** Wait in the store, durably; by `targetName`. */
  joined: ReadonlySet<string>;
  /** Have a queue that the notification did not join: the caller is strict, the quota is used up, or the store failed. */
  turnedAway: ReadonlySet<string>;
  /** To be called once the sends to the other targets have begun. */
  leave(): void;
}

/** null where no target of the dispatch has a queue, as far as is known. */
export type JoinQueues = (notification: Notification, dispatch: Dispatch) => null | Promise<QueuedTargets>;

export function createJoinQueues(parts: JoinParts): JoinQueues {
  const { store, queues, room, now } = parts;

  async function join(
    notification: Notification,
    dispatch: Dispatch,
    all: readonly TargetQueueName[],
  ): Promise<QueuedTargets> {
    await room.ask(notification.ownerId).catch(ignoreUnavailable);
    const [joined, turnedAway] = [new Set<string>(), new Set<string>()];
    const leaving: (() => void)[] = [];
    const joinOne = async (name: TargetQueueName): Promise<void> => {
      const isStrict = name.channel === 'mqtt' && dispatch.isStrict;
      const mayJoin = !isStrict && room.roomFor(name.ownerId) > 0;
      if (mayJoin) room.take(name.ownerId, 1);
      const ask = async (insist: boolean): Promise<QueueAnswer> => {
        if (!mayJoin) return (await store.targetQueues.hasWaiting(name, now())) ? 'queued' : 'none';
        const delivery = joiningDelivery(notification, { ...name, qos: dispatch.qos }, parts);
        const result = await store.targetQueues.join(delivery, now(), insist);
        return result === 'joined' ? 'queued' : result;
      };
      const { isQueued, leave } = await queues.ask(name, ask, () => store.targetQueues.isClosing(name));
      if (mayJoin && !isQueued) room.take(name.ownerId, -1);
      if (isQueued) (mayJoin ? joined : turnedAway).add(targetName(name.channel, name.target));
      else leaving.push(leave);
    };
    const leave = (): void => {
      for (const each of leaving) each();
    };
    try {
      // While some waited, others may have got a queue too.
      for (let left = [...all]; ; ) {
        const found = left.filter((name) => queues.has(name));
        if (found.length === 0) break;
        left = left.filter((name) => !found.includes(name));
        await Promise.all(
          found.map((name) =>
            joinOne(name).catch((error: unknown) => {
              if (!(error instanceof StoreUnavailable)) throw error;
              parts.onFailed(error);
              turnedAway.add(targetName(name.channel, name.target));
            }),
          ),
        );
      }
    } catch (error) {
      leave();
      throw error;
    }
    return { joined, turnedAway, leave };
  }

  return (notification, dispatch) => {
    if (queues.isEmpty) return null;
    const all = queuesOf(notification.ownerId, dispatch);
    return all.some((name) => queues.has(name)) ? join(notification, dispatch, all) : null;
  };
}
