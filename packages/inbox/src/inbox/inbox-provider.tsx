// One inbox store for all pages, because the unread badge is visible on every page.
import { signInRoutes } from '@tocsin/contract/console/routes';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { call } from '../api/client.ts';
import { matchPath } from '../router.tsx';
import { noFilters, readFilters } from './filters.ts';
import { formatUnread, type InboxState } from './inbox-state.ts';
import { createInboxStore, type InboxStore } from './inbox-store.ts';
import { type LiveListener, subscribeToEvents } from './live-events.ts';

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
      // This request fails with signed_out, and the app then shows the sign-in page.
      signedOut: () => void call(signInRoutes.getSession).catch(() => undefined),
      connected(isConnected) {
        store.state.change({ isConnected });
        // Finds out whether only the stream is down or the whole console. If a proxy blocks streams, this keeps the list
        // up to date, at every reconnect of the browser.
        if (!isConnected) store.refresh();
      },
    };
    let unsubscribe = (): void => undefined;
    let isClosed = false;
    // Subscribe after the first list, from its position.
    void store.firstLoad.then((position) => {
      if (!isClosed) unsubscribe = subscribeToEvents(listener, position);
    });
    return () => {
      isClosed = true;
      unsubscribe();
      store.close();
    };
  }, [store]);
  return <InboxContext.Provider value={store}>{children}</InboxContext.Provider>;
}

export function useInbox(): InboxStore {
  const store = useContext(InboxContext);
  if (store === null) throw new Error('useInbox needs an InboxProvider.');
  return store;
}

export function useInboxState(): InboxState {
  const { state } = useInbox();
  const [now, setNow] = useState(state.current);
  useEffect(() => {
    setNow(state.current);
    return state.subscribe(setNow);
  }, [state]);
  return now;
}

/** The number of unread notifications for the badge: '' for none, at most 999+. */
export function useUnread(): string {
  return formatUnread(useInboxState().unread);
}
