// What happens while the inbox is open. The browser comes back by itself with Last-Event-ID after a break; only when it
// gives up is a new stream opened here.
import type { LiveEvent } from '@tocsin/contract/console';

type DataOf<Name extends LiveEvent['event']> = Extract<LiveEvent, { event: Name }>['data'];

export interface LiveListener {
  arrived(data: DataOf<'arrived'>): void;
  changed(data: DataOf<'changed'>): void;
  signedOut(): void;
  /** Something may have been missed. */
  missed(): void;
  connected(isConnected: boolean): void;
}

const firstWaitMs = 1000;
const longestWaitMs = 30_000;
const longHiddenMs = 60_000;

/** `position` is that of the list that was just read: the first stream goes on from there. */
export function listenLive(listener: LiveListener, position: string | null): () => void {
  let source: EventSource | undefined;
  let waitMs = firstWaitMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hiddenSince: number | null = null;

  const open = (from: string | null): void => {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(from === null ? '/api/events' : `/api/events?${new URLSearchParams({ position: from })}`);
    let hasGap = from === null;
    source.addEventListener('open', () => {
      waitMs = firstWaitMs;
      listener.connected(true);
      // Only what is read once the stream has begun leaves no gap to it.
      if (hasGap) listener.missed();
      hasGap = true;
    });
    source.addEventListener('arrived', ({ data }) => listener.arrived(JSON.parse(data)));
    source.addEventListener('changed', ({ data }) => listener.changed(JSON.parse(data)));
    source.addEventListener('signed-out', () => {
      stop();
      listener.signedOut();
    });
    source.addEventListener('error', () => {
      listener.connected(false);
      if (source?.readyState !== EventSource.CLOSED) return;
      timer = setTimeout(reopen, waitMs);
      waitMs = Math.min(waitMs * 2, longestWaitMs);
    });
  };
  const reopen = (): void => open(null);
  const visibility = (): void => {
    if (document.hidden) hiddenSince = Date.now();
    else if (hiddenSince !== null && Date.now() - hiddenSince > longHiddenMs) wake();
  };
  const wake = (): void => {
    if (source?.readyState === EventSource.CLOSED) reopen();
    listener.missed();
  };
  const offline = (): void => listener.connected(false);
  const stop = (): void => {
    clearTimeout(timer);
    source?.close();
    document.removeEventListener('visibilitychange', visibility);
    removeEventListener('online', reopen);
    removeEventListener('offline', offline);
  };

  document.addEventListener('visibilitychange', visibility);
  addEventListener('online', reopen);
  addEventListener('offline', offline);
  open(position);
  return stop;
}
