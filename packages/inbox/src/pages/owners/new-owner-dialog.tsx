import type { OwnerOverview } from '@tocsin/contract/console';
import { ownerRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { fieldProblem, formProblem } from '../../api/problems.ts';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';

const words = text.operator;

interface NewOwnerDialogProps {
  onCreated: (owner: OwnerOverview) => Promise<void>;
  /** Called on errors: the owner may exist although the invitation could not be sent. */
  onMaybeCreated: () => Promise<void>;
  onClose: () => void;
}

export function NewOwnerDialog({ onCreated, onMaybeCreated, onClose }: NewOwnerDialogProps) {
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [error, setError] = useState<unknown>(null);
  const { service } = useSession();
  const create = async (): Promise<void> => {
    try {
      await onCreated(await call(ownerRoutes.createOwner, { body: { name, email: email.trim() || null } }));
    } catch (problem) {
      setError(problem);
      await onMaybeCreated();
    }
  };
  const general = formProblem(error, ['name', 'email']);
  return (
    <Dialog title={words.createTitle} onClose={onClose}>
      <Form submit={words.createAction} onSubmit={create}>
        <TextField
          label={words.name}
          hint={words.nameHint}
          problem={fieldProblem(error, 'name')}
          value={name}
          required
          autoFocus
          autoComplete="off"
          maxLength={100}
          onInput={setName}
        />
        <TextField
          label={words.email}
          hint={service.mail ? words.emailHint : words.emailHintNoSmtp}
          problem={fieldProblem(error, 'email')}
          type="email"
          value={email}
          autoComplete="off"
          maxLength={254}
          onInput={setEmail}
        />
        {general !== null && <Notice kind="error">{general}</Notice>}
      </Form>
    </Dialog>
  );
}
