import { signInRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { ApiError, call } from '../../api/client.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { text } from '../../text/index.ts';

const words = text.signIn.email;

interface EmailSignInProps {
  kind: 'primary' | 'plain';
  onProblem: (problem: string | null) => void;
}

export function EmailSignIn({ kind, onProblem }: EmailSignInProps) {
  const [email, setEmail] = useState('');
  const [sentTo, setSentTo] = useState<string | null>(null);
  const send = async (): Promise<void> => {
    onProblem(null);
    try {
      await call(signInRoutes.requestLink, { body: { email } });
      setSentTo(email);
    } catch (error) {
      onProblem(error instanceof ApiError ? error.message : text.common.failed);
    }
  };
  return (
    <div role="status">
      {sentTo === null ? (
        <Form class="sign-in-email" onSubmit={send} submit={words.send} kind={kind}>
          <TextField
            label={words.address}
            type="email"
            value={email}
            autoComplete="username webauthn"
            placeholder={words.placeholder}
            required
            onInput={setEmail}
          />
        </Form>
      ) : (
        <div class="sign-in-sent">
          <Icon name="email" />
          <p>{words.sent(sentTo)}</p>
          <Button kind="quiet" small onClick={() => setSentTo(null)}>
            {words.another}
          </Button>
        </div>
      )}
    </div>
  );
}
