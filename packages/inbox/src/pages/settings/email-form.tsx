import { settingsRoutes } from '@tocsin/contract/console/routes';
import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { fieldProblem, formProblem } from '../../api/problems.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { showToast } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { useDraft, useUnsaved } from '../../unsaved.ts';

const words = text.settings.profile;

/** If an SMTP server is configured, the address changes only after its confirmation link was opened. */
export function EmailForm() {
  const { owner, service, reload } = useSession();
  const draft = useDraft(owner.email ?? '');
  const email = draft.value;
  const { error, attempt, clearError } = useAttempt();
  const [pendingEmail, setPendingEmail] = useState<string | null>(null);
  useUnsaved(draft.isChanged && email !== pendingEmail);
  const save = async (): Promise<void> => {
    const change = await call(settingsRoutes.changeEmail, { body: { email: email === '' ? null : email } });
    setPendingEmail(change.confirmation ? change.email : null);
    if (change.confirmation) return;
    showToast(text.settings.saved);
    await reload();
    draft.reset();
  };
  return (
    <div>
      <Form class="settings-line" submit={text.common.save} kind="plain" onSubmit={() => attempt(save)}>
        <TextField
          label={words.email}
          type="email"
          value={email}
          maxLength={254}
          autoComplete="email"
          hint={service.mail ? words.emailHint : words.emailHintNoSmtp}
          problem={fieldProblem(error, 'email') ?? formProblem(error, ['email'])}
          onInput={(value) => {
            draft.set(value);
            clearError();
          }}
        />
      </Form>
      <div role="status" class="settings-sent">
        {pendingEmail !== null && <Notice>{words.confirmationSent(pendingEmail)}</Notice>}
      </div>
    </div>
  );
}
