// Who is signed in, for every page below.
import type { SessionInfo } from '@tocsin/contract/console';
import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';

export interface SessionState extends SessionInfo {
  /** Asks the console again: the name or the address has changed. */
  reload(): Promise<void>;
  /** Ends the session, and forgets what this browser kept of the owner. */
  signOut(): Promise<void>;
}

const SessionContext = createContext<SessionState | null>(null);

export function SessionProvider({ session, children }: { session: SessionState; children: ComponentChildren }) {
  return <SessionContext.Provider value={session}>{children}</SessionContext.Provider>;
}

export function useSession(): SessionState {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('useSession is for pages of people who are signed in.');
  return session;
}

/** For pages that anybody may see: null where nobody is signed in. */
export function useSessionIfAny(): SessionState | null {
  return useContext(SessionContext);
}
