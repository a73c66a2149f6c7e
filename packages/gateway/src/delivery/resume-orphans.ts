// Resumes dispatches that a crash interrupted between storing and sending: their targets are queued before notifications
// that are accepted later.
import type { ChannelDefinitions } from '../core/channel.ts';
import { channelsOf, targetIdsOf } from '../core/dispatch.ts';
import { leaseMs } from '../core/lease.ts';
import type { OutcomeKind } from '../core/outcome.ts';
import { type Dispatch, type DispatchToSettle, type Store, StoreUnavailable } from '../usecases/ports/index.ts';
import { orphanedDeliveries, queuesOf } from './dispatch.ts';
import type { DispatchWriter } from './dispatch-writer.ts';
import type { TargetQueues } from './queued-targets.ts';

const batch = 500;

export interface ResumeDeps {
  definitions: ChannelDefinitions;
  store: Pick<Store, 'dispatches'>;
  writer: Pick<DispatchWriter, 'isTracked'>;
  queues: Pick<TargetQueues, 'open'>;
  now: () => number;
  onFailed: (error: unknown) => void;
}

/** `all` if no other process is running, so that every dispatch in the store is orphaned. */
export async function resumeOrphans(deps: ResumeDeps, which: 'orphaned' | 'all'): Promise<void> {
  const { definitions, store, writer, queues, now } = deps;
  for (;;) {
    const claimed = await store.dispatches.claim(now(), now() + leaseMs, batch, which);
    // Clocks may jump: a dispatch that this process still works on is not orphaned.
    const orphaned = claimed.filter(({ notificationId }) => !writer.isTracked(notificationId));
    if (orphaned.length === 0) return;
    const settling = settle(
      deps,
      orphaned.map((each) => ({
        ...{ ownerId: each.ownerId, notificationId: each.notificationId },
        failed: orphanedDeliveries(definitions, each, now()),
        results: allToRetry(each.dispatch),
      })),
    );
    for (const { ownerId, dispatch } of orphaned) {
      for (const name of queuesOf(ownerId, dispatch)) queues.open(name, settling);
    }
    await settling;
    if (claimed.length < batch) return;
  }
}

function allToRetry(dispatch: Dispatch): DispatchToSettle['results'] {
  const results = channelsOf(dispatch).map((channel): [string, OutcomeKind[]] => [
    channel,
    targetIdsOf(dispatch, channel).map(() => 'retry'),
  ]);
  return Object.fromEntries(results);
}

async function settle({ store, onFailed }: ResumeDeps, settled: readonly DispatchToSettle[]): Promise<void> {
  try {
    await store.dispatches.settle(settled);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    // One owner whose key is lost must not block the others.
    for (const each of settled) {
      await store.dispatches.settle([each]).catch(async (reason: unknown) => {
        onFailed(reason);
        await store.dispatches.settle([{ ...each, failed: [] }]);
      });
    }
  }
}
