// Dispatches that a crash interrupted between storing and sending: their targets wait in the queue, in front of what is
// accepted later.

import { leaseMs } from '../core/lease.ts';
import { type DispatchToSettle, type Store, StoreUnavailable } from '../usecases/ports/index.ts';
import { orphanedDeliveries, queuesOf } from './dispatch.ts';
import type { Settlements } from './dispatch-writer.ts';
import type { TargetQueues } from './queued-targets.ts';

const batch = 500;

export interface LeftBehindParts {
  store: Pick<Store, 'dispatches'>;
  settlements: Pick<Settlements, 'isOpen'>;
  queues: Pick<TargetQueues, 'open'>;
  now: () => number;
  onFailed: (error: unknown) => void;
}

/** `all` where no other process is alive, so that every dispatch in the store is orphaned. */
export async function takeUpLeftBehind(parts: LeftBehindParts, which: 'orphaned' | 'all'): Promise<void> {
  const { store, settlements, queues, now } = parts;
  for (;;) {
    const claimed = await store.dispatches.claim(now(), now() + leaseMs, batch, which);
    // Clocks may jump: what this process is still busy with was not left by anybody.
    const orphaned = claimed.filter(({ notificationId }) => !settlements.isOpen(notificationId));
    if (orphaned.length === 0) return;
    const keeping = keep(
      parts,
      orphaned.map((each) => ({
        ...{ ownerId: each.ownerId, notificationId: each.notificationId },
        failed: orphanedDeliveries(each, now()),
        results: {
          push: each.dispatch.push.map(() => 'retry'),
          email: each.dispatch.email ? ['retry'] : [],
          mqtt: each.dispatch.mqtt.map(() => 'retry'),
        },
      })),
    );
    for (const { ownerId, dispatch } of orphaned) {
      for (const name of queuesOf(ownerId, dispatch)) queues.open(name, keeping);
    }
    await keeping;
    if (claimed.length < batch) return;
  }
}

async function keep({ store, onFailed }: LeftBehindParts, settled: readonly DispatchToSettle[]): Promise<void> {
  try {
    await store.dispatches.settle(settled);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    // One owner whose key is lost must not hold up the others.
    for (const each of settled) {
      await store.dispatches.settle([each]).catch(async (reason: unknown) => {
        onFailed(reason);
        await store.dispatches.settle([{ ...each, failed: [] }]);
      });
    }
  }
}
