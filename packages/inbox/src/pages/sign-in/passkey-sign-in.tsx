import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { isCancelled, signInWithPasskey, supportsPasskeyAutofill } from '../../passkeys.ts';
import { text } from '../../text/index.ts';

interface PasskeySignInProps {
  kind: 'primary' | 'plain';
  /** The page has an email field whose autofill suggestions can include passkeys. */
  hasAutofill: boolean;
  onSignedIn: () => Promise<void>;
  onProblem: (problem: string | null) => void;
}

export function PasskeySignIn({ kind, hasAutofill, onSignedIn, onProblem }: PasskeySignInProps) {
  // Browsers allow one request at a time, so the button aborts the autofill request.
  const running = useRef<AbortController>(null);
  const signIn = async (mediation: 'optional' | 'conditional'): Promise<void> => {
    running.current?.abort();
    const request = new AbortController();
    running.current = request;
    try {
      await signInWithPasskey(mediation, request.signal);
      await onSignedIn();
    } catch (error) {
      if (error instanceof ApiError) onProblem(error.message);
      // The autofill request starts without a user action, so its failure is not shown.
      else if (mediation === 'optional' && !isCancelled(error)) onProblem(text.signIn.passkeyFailed);
    }
  };
  useEffect(() => {
    const startAutofill = async (): Promise<void> => {
      if (hasAutofill && (await supportsPasskeyAutofill())) await signIn('conditional');
    };
    void startAutofill();
    return () => running.current?.abort();
  }, [hasAutofill]);
  return (
    <Button
      kind={kind}
      icon="passkey"
      onClick={() => {
        onProblem(null);
        return signIn('optional');
      }}
    >
      {text.signIn.withPasskey}
    </Button>
  );
}
