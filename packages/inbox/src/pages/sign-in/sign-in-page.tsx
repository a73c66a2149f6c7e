// The sign-in page, with or without a one-time link.
import './sign-in.css';
import { Link } from '../../router.tsx';
import { text } from '../../text/index.ts';
import { LinkSignIn } from './link-sign-in.tsx';
import { SignInMethods } from './sign-in-methods.tsx';

interface SignInPageProps {
  /** The token of a one-time link; null without a link. */
  token: string | null;
  isSignedIn: boolean;
  onSignedIn: () => Promise<void>;
  reload: () => Promise<void>;
}

export function SignInPage({ token, isSignedIn, onSignedIn, reload }: SignInPageProps) {
  return (
    <div class="sign-in">
      <main class="sign-in-card">
        <img class="sign-in-logo" src="/icon.svg" alt={text.common.product} width="64" height="64" />
        {token === null ? (
          <SignInMethods onSignedIn={onSignedIn} />
        ) : (
          <LinkSignIn token={token} isSignedIn={isSignedIn} onSignedIn={onSignedIn} reload={reload} />
        )}
      </main>
      <footer class="sign-in-foot">
        <Link href="/docs">{text.signIn.docs}</Link>
      </footer>
    </div>
  );
}
