// The sign-in methods that this service offers without a link.

import type { SignInOptions } from '@tocsin/contract/console';
import { urlOf } from '@tocsin/contract/console/route';
import { signInRoutes } from '@tocsin/contract/console/routes';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';
import { Icon } from '../../components/icon.tsx';
import { Loading } from '../../components/loading.tsx';
import { Notice } from '../../components/notice.tsx';
import { supportsPasskeys } from '../../passkeys.ts';
import { text } from '../../text/index.ts';
import { EmailSignIn } from './email-sign-in.tsx';
import { PasskeySignIn } from './passkey-sign-in.tsx';

const words = text.signIn;

interface SignInMethodsProps {
  heading?: string;
  onSignedIn: () => Promise<void>;
}

export function SignInMethods({ heading = words.heading, onSignedIn }: SignInMethodsProps) {
  const [options, setOptions] = useState<SignInOptions | null>(null);
  const [problem, setProblem] = useState(problemFromQuery);
  useEffect(() => {
    call(signInRoutes.getSignInOptions).then(setOptions, (error: unknown) =>
      setProblem(error instanceof ApiError ? error.message : text.common.failed),
    );
  }, []);
  const hasPasskeys = options?.passkeys === true && supportsPasskeys();
  const hasOther = hasPasskeys || (options !== null && options.oidc !== null);
  return (
    <>
      <h1>{heading}</h1>
      {problem !== null && <Notice kind="error">{problem}</Notice>}
      {options === null && problem === null && <Loading />}
      {options?.oidc && (
        // A path of the API, which redirects to the provider.
        <a class="button primary" href={urlOf(signInRoutes.beginOidc)}>
          <Icon name="people" />
          {words.withProvider(options.oidc.name)}
        </a>
      )}
      {hasPasskeys && (
        <PasskeySignIn
          kind={options.oidc === null ? 'primary' : 'plain'}
          hasAutofill={options.mail}
          onSignedIn={onSignedIn}
          onProblem={setProblem}
        />
      )}
      {options?.mail && hasOther && <p class="sign-in-or">{words.or}</p>}
      {options?.mail && <EmailSignIn kind={hasOther ? 'plain' : 'primary'} onProblem={setProblem} />}
      {options !== null && (
        <div class="sign-in-server small soft">
          <p>{options.mail || hasOther ? words.fromServer : words.linkOnly}</p>
          <code class="sign-in-command">{words.command}</code>
        </div>
      )}
    </>
  );
}

/** The console redirects here with an error code if the sign-in at the provider failed. */
function problemFromQuery(): string | null {
  const problem = new URLSearchParams(location.search).get('problem');
  if (problem === null) return null;
  return problem === 'oidc_unavailable' ? words.providerUnavailable : words.providerRefused;
}
