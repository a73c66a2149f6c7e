import type { Preferences } from '@tocsin/contract/console';
import { fieldProblem, formProblem } from '../../api/problems.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { Button } from '../../components/button.tsx';
import { Switch, TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { showError, showToast } from '../../components/toast.tsx';
import { useSession } from '../../session.tsx';
import { text } from '../../text/index.ts';
import { useDraft, useUnsaved } from '../../unsaved.ts';
import { EmailForm } from './email-form.tsx';
import { sendTestEmail } from './send-test-email.ts';
import type { SavePreferences } from './use-preferences.ts';

const words = text.settings.profile;

export function ProfileForms({ preferences, save }: { preferences: Preferences; save: SavePreferences }) {
  const { owner, service, reload } = useSession();
  const name = useDraft(preferences.name);
  useUnsaved(name.isChanged);
  const { error, attempt, clearError } = useAttempt();
  const canEmail = service.mail && owner.email !== null;
  const saveName = async (): Promise<void> => {
    await save({ name: name.value });
    name.reset();
    await reload();
  };
  return (
    <>
      <Form class="settings-line" submit={text.common.save} kind="plain" onSubmit={() => attempt(saveName)}>
        <TextField
          label={words.name}
          value={name.value}
          maxLength={100}
          autoComplete="name"
          required
          problem={fieldProblem(error, 'name') ?? formProblem(error, ['name'])}
          onInput={(value) => {
            name.set(value);
            clearError();
          }}
        />
      </Form>
      <EmailForm />
      <div class="settings-group">
        <Switch
          label={words.emailAlerts}
          hint={canEmail ? words.emailAlertsHint : service.mail ? words.needsAddress : words.needsSmtp}
          checked={preferences.emailAlerts}
          disabled={!canEmail && !preferences.emailAlerts}
          onChange={(emailAlerts) => void save({ emailAlerts }).catch(showError)}
        />
        {canEmail && (
          <Button small icon="send" onClick={() => sendTestEmail().then(showToast, showError)}>
            {words.testEmail}
          </Button>
        )}
      </div>
    </>
  );
}
