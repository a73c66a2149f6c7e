// One inbox for all pages: the badge counts also where the list is not shown.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { get } from '../api/client.ts';
import { matchPath } from '../router.tsx';
import { noFilters, readFilters } from './filters.ts';
import { type InboxState, unreadWords } from './inbox-state.ts';
import { createInboxStore, type InboxStore } from './inbox-store.ts';
import { type LiveListener, listenLive } from './live.ts';

const InboxContext = createContext<InboxStore | null>(null);

export function InboxProvider({ children }: { children: ComponentChildren }) {
  const [store] = useState(createInboxStore);
  useEffect(() => {
    const { pathname, search } = location;
    const isInbox = pathname === '/' || matchPath('/inbox/:id', pathname) !== null;
    store.show(isInbox ? readFilters(search) : noFilters);
    const listener: LiveListener = {
      arrived: store.arrived,
      changed: store.changed,
      missed: store.refresh,
      // Whoever asks learns it too, and the app shows the way in.
      signedOut: () => void get('/session').catch(() => undefined),
      connected(isConnected) {
        store.state.change({ isConnected });
        // Whether only the stream is gone, or everything: asking shows it. Where streams do not get through at all, this
        // is what still brings news, as often as the browser tries.
        if (!isConnected) store.refresh();
      },
    };
    let stopListening = (): void => undefined;
    let isClosed = false;
    // One list, and then what happens after it.
    void store.firstLoad.then((position) => {
      if (!isClosed) stopListening = listenLive(listener, position);
    });
    return () => {
      isClosed = true;
      stopListening();
      store.close();
    };
  }, [store]);
  return <InboxContext.Provider value={store}>{children}</InboxContext.Provider>;
}

export function useInbox(): InboxStore {
  const store = useContext(InboxContext);
  if (store === null) throw new Error('useInbox is for what stands inside of InboxProvider.');
  return store;
}

export function useInboxState(): InboxState {
  const { state } = useInbox();
  const [now, setNow] = useState(state.now);
  useEffect(() => {
    setNow(state.now);
    return state.subscribe(setNow);
  }, [state]);
  return now;
}

/** The number of unread notifications for the badge: '' for none, 999+ beyond. */
export function useUnread(): string {
  return unreadWords(useInboxState().unread);
}
