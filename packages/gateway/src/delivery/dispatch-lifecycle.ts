// The state of dispatches in one process, shared by requests and redelivery:
//
//   tracked ──first attempt──► settled, everything sent ───────────► written in the background (DispatchWriter)
//      │                  ├──► settled, deliveries wait ───────────► durable before the response (record)
//      │                  └──► parked, sends outlive the response ─► settled at their end (LateSends)
//      └──process died─────────────────────────────────────────────► resumed as waiting deliveries (resume-orphans)
import type { ChannelDefinitions } from '../core/channel.ts';
import type { ChannelName, Store } from '../usecases/ports/index.ts';
import { DispatchWriter } from './dispatch-writer.ts';
import { createJoinQueues, type JoinQueues } from './join-queues.ts';
import { LateSends } from './late-sends.ts';
import { TargetQueues } from './queued-targets.ts';
import { createRecorder, type Park, type RecordResult } from './record.ts';
import { type OnChannelState, Recovery } from './recovery.ts';
import { RetryQuota } from './retry-quota.ts';

export interface DispatchLifecycle {
  definitions: ChannelDefinitions;
  record: RecordResult;
  park: Park;
  writer: DispatchWriter;
  recovery: Recovery;
  queues: TargetQueues;
  joinQueues: JoinQueues;
  lateSends: LateSends;
  /** The channel has recovered: its queues are due at once, in every process that redelivers. */
  wake(channel: ChannelName): void;
  /** Writes all results that are not stored yet. */
  close(): Promise<void>;
}

export interface LifecycleDeps {
  definitions: ChannelDefinitions;
  store: Pick<Store, 'dispatches' | 'targetQueues' | 'deliveries'>;
  /** How many deliveries of one owner may wait for a retry. */
  maxWaitingPerOwner: number;
  now: () => number;
  random: () => number;
  onFailed: (error: unknown) => void;
  onChannelState?: OnChannelState;
}

export function createDispatchLifecycle(deps: LifecycleDeps): DispatchLifecycle {
  const { definitions, store, now, onFailed } = deps;
  const writer = new DispatchWriter(store.dispatches, onFailed);
  const quota = new RetryQuota(store.deliveries, deps.maxWaitingPerOwner, () => performance.now());
  const wake = (channel: ChannelName): void => {
    store.targetQueues.wake(channel, now()).catch(onFailed);
  };
  const recovery = new Recovery(wake, undefined, undefined, deps.onChannelState);
  const queues = new TargetQueues(store.targetQueues, now, onFailed);
  const { record, park } = createRecorder({ ...deps, writer, quota });
  const lateSends = new LateSends({ ...deps, record, recovery });
  return {
    ...{ definitions, record, park, writer, recovery, queues, lateSends, wake },
    joinQueues: createJoinQueues({ ...deps, queues, quota }),
    close: async () => {
      recovery.close();
      queues.close();
      await lateSends.close();
      await writer.close();
    },
  };
}
