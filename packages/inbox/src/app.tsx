// Decides between signing in and the pages of an owner.
import { useEffect } from 'preact/hooks';
import { clearToasts, Toasts } from './components/toast.tsx';
import { InboxProvider, useUnread } from './inbox/inbox-provider.tsx';
import { OfflineBanner } from './layout/connection.tsx';
import { ErrorBoundary } from './layout/error-boundary.tsx';
import { LeaveDialog } from './layout/leave-dialog.tsx';
import { PublicShell } from './layout/public-shell.tsx';
import { Shell } from './layout/shell.tsx';
import { Splash } from './layout/splash.tsx';
import { Unreachable } from './layout/unreachable.tsx';
import { SignInPage } from './pages/sign-in/sign-in-page.tsx';
import { navigate, useFragment, usePath } from './router.tsx';
import { type Place, placeAt, publicPlaceAt } from './routes.tsx';
import { SessionProvider } from './session.tsx';
import { type SessionLoader, useSessionLoader } from './session-loader.ts';
import { text } from './text/index.ts';

export function App() {
  const loader = useSessionLoader();
  const ownerId = loader.state === 'signed-in' ? loader.session.owner.id : null;
  // What was said to one owner is not for the next, nor for whoever sees the sign-in page.
  useEffect(() => clearToasts, [ownerId]);
  return (
    <>
      <OfflineBanner />
      <ErrorBoundary>
        <Pages loader={loader} />
      </ErrorBoundary>
      <LeaveDialog />
      <Toasts />
    </>
  );
}

function Pages({ loader }: { loader: SessionLoader }) {
  const path = usePath();
  const token = useFragment();
  const { reload, signOut } = loader;
  const isSignIn = path === '/sign-in';
  useEffect(() => {
    if (loader.state === 'signed-in' && isSignIn && token === '') navigate('/', { replace: true });
  }, [loader.state, isSignIn, token]);
  // Also for those who are signed in: the link may be for another owner, or confirm an address.
  if (isSignIn && token !== '')
    return <SignIn key={token} token={token} isSignedIn={loader.state === 'signed-in'} reload={reload} />;
  if (loader.state === 'loading') return <Splash />;
  if (loader.state === 'unreachable') return <Unreachable onRetry={reload} />;
  if (loader.state === 'signed-out') {
    const place = publicPlaceAt(path);
    return place === null ? <SignIn token={null} isSignedIn={false} reload={reload} /> : <PublicPlace place={place} />;
  }
  return (
    <SessionProvider session={{ ...loader.session, reload, signOut }}>
      {/* Another owner in the same browser begins with nothing of the one before. */}
      <InboxProvider key={loader.session.owner.id}>
        <OwnersPlace place={placeAt(isSignIn ? '/' : path, loader.session.owner.role)} />
      </InboxProvider>
    </SessionProvider>
  );
}

function SignIn(props: { token: string | null; isSignedIn: boolean; reload: () => Promise<void> }) {
  const { token, isSignedIn, reload } = props;
  useTitle(text.signIn.title);
  return (
    <SignInPage
      token={token}
      isSignedIn={isSignedIn}
      reload={reload}
      onSignedIn={async () => {
        await reload();
        // Whoever was on the way to a page gets there.
        if (location.pathname === '/sign-in') navigate('/', { replace: true });
      }}
    />
  );
}

function PublicPlace({ place: { name, title, page } }: { place: Place }) {
  useTitle(title);
  return (
    <PublicShell>
      <ErrorBoundary key={name}>{page}</ErrorBoundary>
    </PublicShell>
  );
}

function OwnersPlace({ place: { name, title, page } }: { place: Place }) {
  const unread = useUnread();
  useTitle(title, unread);
  return (
    <Shell unread={unread}>
      <ErrorBoundary key={name}>{page}</ErrorBoundary>
    </Shell>
  );
}

function useTitle(title: string, unread = ''): void {
  useEffect(() => {
    document.title = text.common.pageTitle(title, unread);
  }, [title, unread]);
}
