// Shows the sign-in page, a public page or the pages of the signed-in owner.
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
import { matchPublicRoute, matchRoute, type Route } from './routes.tsx';
import { SessionProvider } from './session.tsx';
import { type SessionLoader, useSessionLoader } from './session-loader.ts';
import { text } from './text/index.ts';

export function App() {
  const loader = useSessionLoader();
  const ownerId = loader.state === 'signed-in' ? loader.session.owner.id : null;
  // Toasts of one owner must not be visible to the next one, nor on the sign-in page.
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
  // Applies to signed-in owners, too: the link may be for another owner, or confirm an email address.
  if (isSignIn && token !== '')
    return <SignIn key={token} token={token} isSignedIn={loader.state === 'signed-in'} reload={reload} />;
  if (loader.state === 'loading') return <Splash />;
  if (loader.state === 'unreachable') return <Unreachable onRetry={reload} />;
  if (loader.state === 'signed-out') {
    const route = matchPublicRoute(path);
    return route === null ? <SignIn token={null} isSignedIn={false} reload={reload} /> : <PublicPage route={route} />;
  }
  return (
    <SessionProvider session={{ ...loader.session, reload, signOut }}>
      {/* The key discards the state of the previous owner in the same browser. */}
      <InboxProvider key={loader.session.owner.id}>
        <OwnerPage route={matchRoute(isSignIn ? '/' : path, loader.session.owner.role)} />
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
        // Any other path is the page that was requested before signing in.
        if (location.pathname === '/sign-in') navigate('/', { replace: true });
      }}
    />
  );
}

function PublicPage({ route: { name, title, page } }: { route: Route }) {
  useTitle(title);
  return (
    <PublicShell>
      <ErrorBoundary key={name}>{page}</ErrorBoundary>
    </PublicShell>
  );
}

function OwnerPage({ route: { name, title, page } }: { route: Route }) {
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
