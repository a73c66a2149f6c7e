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

export function listenLive(listener: LiveListener): () => void {
  let source: EventSource | undefined;
  let waitMs = firstWaitMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hiddenSince: number | null = null;

  const open = (): void => {
    clearTimeout(timer);
    source?.close();
    source = new EventSource('/api/events');
    source.addEventListener('open', () => {
      waitMs = firstWaitMs;
      listener.connected(true);
      // Only what is read once the stream has begun leaves no gap to it.
      listener.missed();
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
      timer = setTimeout(open, waitMs);
      waitMs = Math.min(waitMs * 2, longestWaitMs);
    });
  };
  const visibility = (): void => {
    if (document.hidden) hiddenSince = Date.now();
    else if (hiddenSince !== null && Date.now() - hiddenSince > longHiddenMs) wake();
  };
  const wake = (): void => {
    if (source?.readyState === EventSource.CLOSED) open();
    listener.missed();
  };
  const offline = (): void => listener.connected(false);
  const stop = (): void => {
    clearTimeout(timer);
    source?.close();
    document.removeEventListener('visibilitychange', visibility);
    removeEventListener('online', open);
    removeEventListener('offline', offline);
  };

  document.addEventListener('visibilitychange', visibility);
  addEventListener('online', open);
  addEventListener('offline', offline);
  open();
  return stop;
}
