import { useState } from 'preact/hooks';
import { fieldProblem, formProblem } from '../../api/problems.ts';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { text } from '../../text/index.ts';

interface NameDialogProps {
  title: string;
  name: string;
  submit: string;
  /** A rejection is shown as an error in the dialog. */
  onSubmit: (name: string) => Promise<void>;
  onClose: () => void;
}

export function NameDialog({ title, name: initial, submit, onSubmit, onClose }: NameDialogProps) {
  const [name, setName] = useState(initial);
  const [error, setError] = useState<unknown>(null);
  const general = formProblem(error, ['name']);
  return (
    <Dialog title={title} onClose={onClose}>
      <Form submit={submit} onSubmit={() => onSubmit(name).catch(setError)}>
        <TextField
          label={text.devices.name}
          hint={text.devices.nameHint}
          problem={fieldProblem(error, 'name')}
          value={name}
          required
          autoFocus
          autoComplete="off"
          maxLength={200}
          onInput={setName}
        />
        {general !== null && <Notice kind="error">{general}</Notice>}
      </Form>
    </Dialog>
  );
}
