// Confirms an email address with a one-time link. The link does not sign in: if it was sent to a wrong address, its
// recipient must not get access to the inbox.

import type { LinkPreview } from '@tocsin/contract/console';
import { signInRoutes } from '@tocsin/contract/console/routes';
import { ApiError, call } from '../../api/client.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { Button } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { showToast } from '../../components/toast.tsx';
import { navigate } from '../../router.tsx';
import { text } from '../../text/index.ts';
import { SignInMethods } from './sign-in-methods.tsx';

const words = text.signIn.confirm;

interface ConfirmEmailProps {
  token: string;
  preview: LinkPreview;
  reload: () => Promise<void>;
}

export function ConfirmEmail({ token, preview: { email, ownerName }, reload }: ConfirmEmailProps) {
  const { error, attempt } = useAttempt();
  const confirm = async (): Promise<void> => {
    await call(signInRoutes.useLink, { body: { token } });
    await reload();
    showToast(words.done(email ?? ''));
    navigate('/settings', { replace: true });
  };
  if (error instanceof ApiError && error.code === 'signed_out')
    return (
      <SignInMethods
        heading={words.signInFirst(ownerName)}
        onSignedIn={async () => {
          await reload();
          await attempt(confirm);
        }}
      />
    );
  return (
    <>
      <h1>{words.title}</h1>
      <p class="soft">{words.intro(email ?? '', ownerName)}</p>
      {error !== null && <Notice kind="error">{error instanceof ApiError ? error.message : text.common.failed}</Notice>}
      <Button kind="primary" onClick={() => attempt(confirm)}>
        {words.go}
      </Button>
    </>
  );
}
