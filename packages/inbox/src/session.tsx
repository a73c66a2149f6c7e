// Provides the session of the signed-in owner to the pages.
import type { SessionInfo } from '@tocsin/contract/console';
import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';

export interface SessionState extends SessionInfo {
  /** Loads the session again, after the name or the email address has changed. */
  reload(): Promise<void>;
  /** Ends the session and deletes the owner's data from this browser. */
  signOut(): Promise<void>;
}

const SessionContext = createContext<SessionState | null>(null);

export function SessionProvider({ session, children }: { session: SessionState; children: ComponentChildren }) {
  return <SessionContext.Provider value={session}>{children}</SessionContext.Provider>;
}

export function useSession(): SessionState {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('useSession needs a SessionProvider: it is for pages of signed-in owners.');
  return session;
}
