// Finds out who is signed in, and remembers it, so that the app also opens where the console cannot be reached.
import type { SessionInfo } from '@tocsin/contract/console';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiError, get, onSignedOut, post } from './api/client.ts';
import { discard, keep, kept, sessionName } from './offline/kept-values.ts';
import { clearLastItems } from './offline/last-items.ts';
import { ringState, turnOff } from './push/ring.ts';

type Loaded =
  | { state: 'loading' }
  | { state: 'signed-out' }
  | { state: 'unreachable' }
  /** `sessionId` is that of the last time where the console was not reached. */
  | { state: 'signed-in'; session: SessionInfo };

export type SessionLoader = Loaded & { reload(): Promise<void>; signOut(): Promise<void> };

export function useSessionLoader(): SessionLoader {
  const [loaded, setLoaded] = useState<Loaded>({ state: 'loading' });
  const reload = useCallback(async () => {
    try {
      const session = await get<SessionInfo>('/session');
      await remember(session);
      setLoaded({ state: 'signed-in', session });
    } catch (error) {
      // The listener below knows already.
      if (error instanceof ApiError && error.code === 'signed_out') return;
      const session = await kept<SessionInfo>(sessionName).catch(() => undefined);
      setLoaded(session === undefined ? { state: 'unreachable' } : { state: 'signed-in', session });
    }
  }, []);
  const signOut = useCallback(async () => {
    await stopRinging().catch(() => undefined);
    await post('/sign-out');
    await forget();
    setLoaded({ state: 'signed-out' });
  }, []);
  useEffect(() => {
    onSignedOut(() => {
      setLoaded({ state: 'signed-out' });
      void forget();
    });
    void reload();
  }, [reload]);
  return { ...loaded, reload, signOut };
}

async function remember(session: SessionInfo): Promise<void> {
  const before = await kept<SessionInfo>(sessionName).catch(() => undefined);
  if (before !== undefined && before.owner.id !== session.owner.id) await clearLastItems();
  await keep(sessionName, session).catch(() => undefined);
}

/** What arrives later is not for whoever uses this browser then. */
async function stopRinging(): Promise<void> {
  const ring = await ringState();
  if (ring.kind === 'on') await turnOff(ring.targetId);
}

/** Whoever comes to this browser next sees nothing of the owner before. */
async function forget(): Promise<void> {
  // In this order: without a session nothing is kept any more.
  await discard(sessionName).catch(() => undefined);
  await clearLastItems();
}
