// Signs in with a one-time link. The preview does not use the link, because email scanners open links, too.

import type { LinkPreview } from '@tocsin/contract/console';
import { signInRoutes } from '@tocsin/contract/console/routes';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { Button } from '../../components/button.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { Link } from '../../router.tsx';
import { text } from '../../text/index.ts';
import { ConfirmEmail } from './confirm-email.tsx';

const words = text.signIn.link;

interface LinkSignInProps {
  token: string;
  /** A used link is often opened again in a browser that is signed in already. */
  isSignedIn: boolean;
  onSignedIn: () => Promise<void>;
  /** Loads the session again without leaving this page. */
  reload: () => Promise<void>;
}

export function LinkSignIn({ token, isSignedIn, onSignedIn, reload }: LinkSignInProps) {
  const [preview, setPreview] = useState<LinkPreview | null>(null);
  const { error, attempt } = useAttempt();
  const loadPreview = useCallback(
    () => attempt(async () => setPreview(await call(signInRoutes.previewLink, { body: { token } }))),
    [attempt, token],
  );
  useEffect(() => {
    void loadPreview();
  }, [loadPreview]);

  if (error instanceof ApiError && error.code === 'link_not_valid')
    return isSignedIn ? <UsedLinkSignedIn /> : <UsedLink />;
  if (error !== null)
    return (
      <>
        <h1>{words.failedTitle}</h1>
        <Notice kind="error">{error instanceof ApiError ? error.message : text.common.failed}</Notice>
        <Button kind="primary" onClick={loadPreview}>
          {text.common.retry}
        </Button>
      </>
    );
  if (preview === null) return <Loading />;

  if (preview.purpose === 'confirm_email') return <ConfirmEmail token={token} preview={preview} reload={reload} />;
  return (
    <>
      <h1>{words.title(preview.ownerName)}</h1>
      <p class="soft">{words.intro}</p>
      <Button
        kind="primary"
        onClick={() =>
          attempt(async () => {
            await call(signInRoutes.useLink, { body: { token } });
            await onSignedIn();
          })
        }
      >
        {words.go}
      </Button>
    </>
  );
}

function UsedLink() {
  return (
    <>
      <h1>{words.usedTitle}</h1>
      <p class="soft">{words.used}</p>
      <p class="soft small">{text.signIn.fromServer}</p>
      <code class="sign-in-command">{text.signIn.command}</code>
      <Link class="button" href="/sign-in">
        {words.otherWays}
      </Link>
    </>
  );
}

function UsedLinkSignedIn() {
  return (
    <>
      <h1>{words.usedTitle}</h1>
      <p class="soft">{words.usedSignedIn}</p>
      <Link class="button primary" href="/">
        {text.common.backToInbox}
      </Link>
    </>
  );
}
