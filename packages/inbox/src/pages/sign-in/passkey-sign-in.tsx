import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { isChangeOfMind, signInWithPasskey, suggestsPasskeys } from '../../passkeys.ts';
import { text } from '../../text/index.ts';

interface PasskeySignInProps {
  kind: 'primary' | 'plain';
  /** There is a field among whose suggestions passkeys can be. */
  suggests: boolean;
  onSignedIn: () => Promise<void>;
  onProblem: (problem: string | null) => void;
}

export function PasskeySignIn({ kind, suggests, onSignedIn, onProblem }: PasskeySignInProps) {
  // The browser deals with one request at a time: the button ends the one behind the field.
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
      // Behind the field nobody asked for anything, so nobody is told that the browser has nothing to suggest.
      else if (mediation === 'optional' && !isChangeOfMind(error)) onProblem(text.signIn.passkeyFailed);
    }
  };
  useEffect(() => {
    const suggest = async (): Promise<void> => {
      if (suggests && (await suggestsPasskeys())) await signIn('conditional');
    };
    void suggest();
    return () => running.current?.abort();
  }, [suggests]);
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
