// Live events over Server-Sent Events.
//
//   connecting ──open──▶ connected ──error──▶ reconnecting (by the browser, with Last-Event-ID) ──open──▶ connected
//                                                  │ the browser stops reconnecting (readyState CLOSED)
//                                                  ▼
//                                    closed ──backoff, or online──▶ connecting (new stream, which may have missed events)

import type { LiveEvent } from '@tocsin/contract/console';
import { urlOf } from '@tocsin/contract/console/route';
import { inboxRoutes } from '@tocsin/contract/console/routes';

type DataOf<Name extends LiveEvent['event']> = Extract<LiveEvent, { event: Name }>['data'];

export interface LiveListener {
  arrived(data: DataOf<'arrived'>): void;
  changed(data: DataOf<'changed'>): void;
  signedOut(): void;
  /** Events may have been missed: load the list again. */
  missed(): void;
  connected(isConnected: boolean): void;
}

const minBackoffMs = 1000;
const maxBackoffMs = 30_000;
const staleAfterHiddenMs = 60_000;

/** `position` comes from the list that was just loaded: the first stream continues from there. */
export function subscribeToEvents(listener: LiveListener, position: string | null): () => void {
  let source: EventSource | undefined;
  let backoffMs = minBackoffMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hiddenSince: number | null = null;

  const open = (from: string | null): void => {
    clearTimeout(timer);
    source?.close();
    source = new EventSource(urlOf(inboxRoutes.streamEvents, {}, from === null ? undefined : { position: from }));
    let hasGap = from === null;
    source.addEventListener('open', () => {
      backoffMs = minBackoffMs;
      listener.connected(true);
      // A list loaded before the stream was open may lack events in between, so load it again.
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
      timer = setTimeout(reopen, backoffMs);
      backoffMs = Math.min(backoffMs * 2, maxBackoffMs);
    });
  };
  const reopen = (): void => open(null);
  const visibility = (): void => {
    if (document.hidden) hiddenSince = Date.now();
    else if (hiddenSince !== null && Date.now() - hiddenSince > staleAfterHiddenMs) wake();
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
