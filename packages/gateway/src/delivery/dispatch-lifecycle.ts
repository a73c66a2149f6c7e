// Everything that follows a delivery in one process, put together: for requests and for redelivery alike.

import type { ChannelName, Store } from '../usecases/ports/index.ts';
import { Settlements } from './dispatch-writer.ts';
import { createJoinQueues, type JoinQueues } from './join-queues.ts';
import { LateSends } from './late-sends.ts';
import { TargetQueues } from './queued-targets.ts';
import { createSettle, type Park, type Settle } from './record.ts';
import { type OnChannelState, Recovery } from './recovery.ts';
import { WaitingRoom } from './retry-quota.ts';

export interface FollowUp {
  settle: Settle;
  park: Park;
  settlements: Settlements;
  recovery: Recovery;
  queues: TargetQueues;
  joinQueues: JoinQueues;
  lateSends: LateSends;
  /** The channel works again: what waits for it is tried within a second, wherever redelivery runs. */
  hasten(channel: ChannelName): void;
  /** Writes what is not written yet. */
  close(): Promise<void>;
}

export function createFollowUp(parts: {
  store: Pick<Store, 'dispatches' | 'targetQueues' | 'deliveries'>;
  /** How much of one owner may wait to be tried again. */
  maxWaitingPerOwner: number;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
  onChannelState?: OnChannelState;
}): FollowUp {
  const { store, now, onFailed } = parts;
  const settlements = new Settlements(store.dispatches, onFailed);
  const room = new WaitingRoom(store.deliveries, parts.maxWaitingPerOwner, () => performance.now());
  const hasten = (channel: ChannelName): void => {
    store.targetQueues.wake(channel, now()).catch(onFailed);
  };
  const recovery = new Recovery(hasten, undefined, undefined, parts.onChannelState);
  const queues = new TargetQueues(store.targetQueues, now, onFailed);
  const { settle, park } = createSettle({ ...parts, settlements, room });
  const lateSends = new LateSends({ ...parts, settle, recovery });
  return {
    ...{ settle, park, settlements, recovery, queues, lateSends, hasten },
    joinQueues: createJoinQueues({ ...parts, queues, room }),
    close: async () => {
      recovery.close();
      queues.close();
      await lateSends.close();
      await settlements.close();
    },
  };
}
