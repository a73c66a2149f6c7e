import type { EmailChange } from '@tocsin/contract/console';
import { useState } from 'preact/hooks';
import { post } from '../../api/client.ts';
import { problemBeside, problemOf } from '../../api/problems.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { showToast } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { useDraft, useUnsaved } from '../../unsaved.ts';

const words = text.settings.profile;

/** With a mail server the address changes only when the link in the mail is opened. */
export function EmailForm() {
  const { owner, service, reload } = useSession();
  const draft = useDraft(owner.email ?? '');
  const email = draft.value;
  const { error, attempt, forget } = useAttempt();
  const [waitsFor, setWaitsFor] = useState<string | null>(null);
  useUnsaved(draft.isChanged && email !== waitsFor);
  const save = async (): Promise<void> => {
    const change = await post<EmailChange>('/preferences/email', { email: email === '' ? null : email });
    setWaitsFor(change.confirmation ? change.email : null);
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
          problem={problemOf(error, 'email') ?? problemBeside(error, ['email'])}
          onInput={(value) => {
            draft.set(value);
            forget();
          }}
        />
      </Form>
      <div role="status" class="settings-sent">
        {waitsFor !== null && <Notice>{words.confirmationSent(waitsFor)}</Notice>}
      </div>
    </div>
  );
}
