// Before the first attempt: a notification to a target with a queue joins the queue.
import type { ChannelDefinitions } from '../core/channel.ts';
import {
  type Dispatch,
  type Notification,
  type Store,
  StoreUnavailable,
  type TargetQueueName,
} from '../usecases/ports/index.ts';
import { isReportedToCaller, joiningDelivery, queuesOf, targetKey } from './dispatch.ts';
import type { QueueState, TargetQueues } from './queued-targets.ts';
import { ignoreUnavailable } from './record.ts';
import type { RetryQuota } from './retry-quota.ts';

export interface JoinDeps {
  definitions: ChannelDefinitions;
  store: Pick<Store, 'targetQueues'>;
  queues: TargetQueues;
  quota: RetryQuota;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
}

export interface QueuedTargets {
  /** Targets whose queue the notification joined, durably; by `targetKey`. */
  joined: ReadonlySet<string>;
  /** Targets with a queue that the notification did not join: reported to the caller, quota exceeded, or store failed. */
  turnedAway: ReadonlySet<string>;
  /** To be called once the sends to the other targets have begun. */
  leave(): void;
}

/** null where no target of the dispatch has a queue, as far as this process knows. */
export type JoinQueues = (notification: Notification, dispatch: Dispatch) => null | Promise<QueuedTargets>;

export function createJoinQueues(deps: JoinDeps): JoinQueues {
  const { store, queues, quota, now } = deps;

  async function join(
    notification: Notification,
    dispatch: Dispatch,
    all: readonly TargetQueueName[],
  ): Promise<QueuedTargets> {
    await quota.refresh(notification.ownerId).catch(ignoreUnavailable);
    const [joined, turnedAway] = [new Set<string>(), new Set<string>()];
    const leaving: (() => void)[] = [];
    const joinOne = async (name: TargetQueueName): Promise<void> => {
      const isReported = isReportedToCaller(deps.definitions, dispatch, name.channel);
      const mayJoin = !isReported && quota.remaining(name.ownerId) > 0;
      if (mayJoin) quota.reserve(name.ownerId, 1);
      const ask = async (insist: boolean): Promise<QueueState> => {
        if (!mayJoin) return (await store.targetQueues.hasWaiting(name, now())) ? 'queued' : 'none';
        const delivery = joiningDelivery(notification, { ...name, qos: dispatch.qos }, deps);
        const result = await store.targetQueues.join(delivery, now(), insist);
        return result === 'joined' ? 'queued' : result;
      };
      const { isQueued, leave } = await queues.ask(name, ask, () => store.targetQueues.isClosing(name));
      if (mayJoin && !isQueued) quota.reserve(name.ownerId, -1);
      if (isQueued) (mayJoin ? joined : turnedAway).add(targetKey(name.channel, name.target));
      else leaving.push(leave);
    };
    const leave = (): void => {
      for (const each of leaving) each();
    };
    try {
      // While the first ones waited, other targets may have got a queue too.
      for (let left = [...all]; ; ) {
        const found = left.filter((name) => queues.has(name));
        if (found.length === 0) break;
        left = left.filter((name) => !found.includes(name));
        await Promise.all(
          found.map((name) =>
            joinOne(name).catch((error: unknown) => {
              if (!(error instanceof StoreUnavailable)) throw error;
              deps.onFailed(error);
              turnedAway.add(targetKey(name.channel, name.target));
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
