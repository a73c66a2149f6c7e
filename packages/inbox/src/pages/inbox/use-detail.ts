// Loads one notification with its delivery status.

import type { DeliveryEntry, InboxDetail } from '@tocsin/contract/console';
import { inboxRoutes } from '@tocsin/contract/console/routes';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';

export type DetailProblem = 'not-found' | 'offline' | 'failed';

export interface DetailState {
  detail: InboxDetail | null;
  problem: DetailProblem | null;
  retry(delivery: DeliveryEntry): Promise<number>;
}

/** Delivery status has no live events, so it is polled with these delays while a delivery is in progress. */
const pollDelaysMs = [300, 700, 1500, 3000, 5000, 10_000];

/** Loads again when `version` changes, and when `isOffline` becomes false. */
export function useDetail(id: string, version: unknown, isOffline: boolean): DetailState {
  const [detail, setDetail] = useState<InboxDetail | null>(null);
  const [problem, setProblem] = useState<DetailProblem | null>(null);
  const [polls, setPolls] = useState<number | null>(null);
  const retried = useRef('');

  const load = useCallback(
    async (signal?: AbortSignal): Promise<InboxDetail | null> => {
      try {
        const loaded = await call(inboxRoutes.getNotification, { params: { id }, signal });
        setDetail(loaded);
        setProblem(null);
        return loaded;
      } catch (error) {
        if (signal?.aborted !== true) setProblem(problemOf(error));
        return null;
      }
    },
    [id],
  );

  useEffect(() => {
    if (isOffline) {
      setProblem('offline');
      return;
    }
    const stop = new AbortController();
    void load(stop.signal).then((loaded) => {
      if (loaded?.deliveries.some(({ state }) => state === 'sending')) setPolls(0);
    });
    return () => stop.abort();
  }, [load, version, isOffline]);

  useEffect(() => {
    const delay = polls === null ? undefined : pollDelaysMs[polls];
    if (polls === null || delay === undefined) return;
    const timer = setTimeout(async () => {
      const loaded = await load();
      const isPending = loaded === null || isInProgress(loaded, retried.current);
      setPolls(isPending ? polls + 1 : null);
    }, delay);
    return () => clearTimeout(timer);
  }, [load, polls]);

  const retry = async (delivery: DeliveryEntry): Promise<number> => {
    const { channel, target } = delivery;
    const { count } = await call(inboxRoutes.retryDeliveries, { params: { id }, body: { channel, target } });
    retried.current = keyOf(delivery);
    await load();
    setPolls(0);
    return count;
  };

  return { detail, problem, retry };
}

function isInProgress({ deliveries }: InboxDetail, retried: string): boolean {
  return deliveries.some(
    (delivery) =>
      delivery.state === 'sending' || (delivery.state === 'waiting' && keyOf(delivery) === retried && isDue(delivery)),
  );
}

function isDue({ nextAt }: DeliveryEntry): boolean {
  return nextAt === null || nextAt <= Date.now() + 1000;
}

function keyOf({ channel, target }: DeliveryEntry): string {
  return `${channel} ${target}`;
}

function problemOf(error: unknown): DetailProblem {
  if (!(error instanceof ApiError)) return 'failed';
  return error.code === 'not_found' ? 'not-found' : error.code === 'offline' ? 'offline' : 'failed';
}
