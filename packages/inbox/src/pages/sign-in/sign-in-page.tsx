// The first thing that people see.
import './sign-in.css';
import { Link } from '../../router.tsx';
import { text } from '../../text/index.ts';
import { LinkSignIn } from './link-sign-in.tsx';
import { SignInWays } from './sign-in-ways.tsx';

interface SignInPageProps {
  /** Of a link that works once; null where nobody followed one. */
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
          <SignInWays onSignedIn={onSignedIn} />
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
