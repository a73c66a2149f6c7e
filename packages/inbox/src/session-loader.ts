// Loads the session, and stores it so that the app also opens while the console cannot be reached.

import type { SessionInfo } from '@tocsin/contract/console';
import { signInRoutes } from '@tocsin/contract/console/routes';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiError, call, onSignedOut } from './api/client.ts';
import { withChannels } from './channels.ts';
import { deleteValue, loadValue, saveValue, sessionKey } from './offline/key-value-store.ts';
import { clearLastItems } from './offline/last-items.ts';
import { pushState, unsubscribe } from './push/push-subscription.ts';

type Loaded =
  | { state: 'loading' }
  | { state: 'signed-out' }
  | { state: 'unreachable' }
  /** While the console cannot be reached, this is the stored session. */
  | { state: 'signed-in'; session: SessionInfo };

export type SessionLoader = Loaded & { reload(): Promise<void>; signOut(): Promise<void> };

export function useSessionLoader(): SessionLoader {
  const [loaded, setLoaded] = useState<Loaded>({ state: 'loading' });
  const reload = useCallback(async () => {
    try {
      const session = await call(signInRoutes.getSession);
      await storeSession(session);
      setLoaded(signedIn(session));
    } catch (error) {
      // The listener below handles it.
      if (error instanceof ApiError && error.code === 'signed_out') return;
      const session = await loadValue<SessionInfo>(sessionKey).catch(() => undefined);
      setLoaded(session === undefined ? { state: 'unreachable' } : signedIn(session));
    }
  }, []);
  const signOut = useCallback(async () => {
    await disablePush().catch(() => undefined);
    await call(signInRoutes.signOut);
    await clearStoredData();
    setLoaded({ state: 'signed-out' });
  }, []);
  useEffect(() => {
    onSignedOut(() => {
      setLoaded({ state: 'signed-out' });
      void clearStoredData();
    });
    void reload();
  }, [reload]);
  return { ...loaded, reload, signOut };
}

function signedIn(session: SessionInfo): Loaded {
  return { state: 'signed-in', session: withChannels(session) };
}

async function storeSession(session: SessionInfo): Promise<void> {
  const previous = await loadValue<SessionInfo>(sessionKey).catch(() => undefined);
  if (previous !== undefined && previous.owner.id !== session.owner.id) await clearLastItems();
  await saveValue(sessionKey, session).catch(() => undefined);
}

/** After signing out, notifications must not appear in a browser that others may use. */
async function disablePush(): Promise<void> {
  const push = await pushState();
  if (push.kind === 'on') await unsubscribe(push.targetId);
}

/** Deletes the owner's data from this browser. */
async function clearStoredData(): Promise<void> {
  // The session first: without it, nothing more is saved.
  await deleteValue(sessionKey).catch(() => undefined);
  await clearLastItems();
}
